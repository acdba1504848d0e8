"""Passwords of tests: hashed by Argon2 like all of the site's, but without its cost."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class QuickHasher(Argon2PasswordHasher):
    time_cost, memory_cost, parallelism = 1, 8, 1
    hashed: list[str] = []  # every password that was weighed, for those who count

    def encode(self, password: str, salt: str) -> str:
        self.hashed.append(password)
        return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        self.hashed.append(password)
        return super().verify(password, encoded)
