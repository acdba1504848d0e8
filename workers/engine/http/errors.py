"""How a connection can fail, in our words: a library's may name the whole URL."""

from workers.engine.errors import ConnectionFailed


class Unreachable(ConnectionFailed):
    """No connection was made, so nothing was sent: another server may be asked at once."""

    def __init__(self, message: str = "Nothing answers at this address.") -> None:
        super().__init__(message)


class UnknownHost(Unreachable):
    def __init__(self) -> None:
        super().__init__("The host name is not known.")


class BadCertificate(Unreachable):
    def __init__(self) -> None:
        super().__init__("Its certificate is not valid.")


class NotHttps(Unreachable):
    def __init__(self) -> None:
        super().__init__("It does not speak https.")


class ClosedWithoutAnswer(ConnectionFailed):
    def __init__(self) -> None:
        super().__init__("It closed the connection without an answer.")


class BrokenOff(ConnectionFailed):
    def __init__(self) -> None:
        super().__init__("It broke off in the middle of its answer.")


class NotHttp(ConnectionFailed):
    def __init__(self) -> None:
        super().__init__("What it sent is not HTTP.")
