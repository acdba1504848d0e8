"""JSON answers that several doors give."""

from django.http import JsonResponse

from workers.engine.errors import Problem


def problem_answer(problems: list[Problem], status: int = 400) -> JsonResponse:
    return JsonResponse({"problems": [problem._asdict() for problem in problems]}, status=status)
