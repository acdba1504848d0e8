"""Django's settings: what the environment says (env.py) and what is the same everywhere."""

from datetime import timedelta
from urllib.parse import urlsplit

import django_stubs_ext

from evalsite.database import database_settings
from evalsite.env import RESOURCES, read_environment

django_stubs_ext.monkeypatch()  # so that ModelForm[Endpoint] and the like also run

ENVIRONMENT = read_environment()

# What our own code reads.
EVALSITE_DATA = ENVIRONMENT.data
REDIS_URL = ENVIRONMENT.redis_url
SIMULATOR_URL = ENVIRONMENT.simulator_url
SIMULATOR_SECRET = ENVIRONMENT.simulator_secret
WORKERS = ENVIRONMENT.workers
FLIGHT_SECONDS = ENVIRONMENT.flight_seconds
LIVE_RUNS = ENVIRONMENT.live_runs
TRIALS_PER_RUN = ENVIRONMENT.trials_per_run
DOLLARS_PER_DAY = ENVIRONMENT.dollars_per_day
STORED_MEGABYTES = ENVIRONMENT.stored_megabytes
SLOTS_PER_PERSON = ENVIRONMENT.slots_per_person
SOCKETS_PER_PERSON = ENVIRONMENT.sockets_per_person
AUDIT_DAYS = ENVIRONMENT.audit_days
TRASH_DAYS = ENVIRONMENT.trash_days
RETENTION = {
    "run_days": ENVIRONMENT.keep_runs_days,
    "sample_days": ENVIRONMENT.keep_samples_days,
    "cache_days": ENVIRONMENT.keep_cache_days,
    "cache_megabytes": ENVIRONMENT.keep_cache_megabytes,
}
WORKER_MEGABYTES = ENVIRONMENT.worker_megabytes
LEASE_SECONDS = ENVIRONMENT.lease_seconds
HANG_SECONDS = ENVIRONMENT.hang_seconds
API_REQUESTS_PER_MINUTE = ENVIRONMENT.api_requests_per_minute
# Of one person, to pages that compute their answer: each may take half a second of a process that
# others wait for. The new-run form asks for an estimate after every pause in typing.
WORK_REQUESTS_PER_MINUTE = max(1, API_REQUESTS_PER_MINUTE // 10)
ALLOWED_PRIVATE_ENDPOINTS = ENVIRONMENT.allowed_private_endpoints
PRIVATE_ENDPOINTS = ENVIRONMENT.private_endpoints
HTTPS_PROXY = ENVIRONMENT.https_proxy
NO_PROXY = ENVIRONMENT.no_proxy
UNSAFE_WEBHOOK_ADDRESSES = ENVIRONMENT.unsafe_webhook_addresses
# A proxy is given the address that was looked up and checked here, unless its own look-up is asked
# for: then nobody checks where a name leads.
UNSAFE_PROXY_LOOKS_UP = ENVIRONMENT.unsafe_proxy_looks_up
SIGN_IN_PROVIDER = ENVIRONMENT.sign_in_provider
PLUGINS = ENVIRONMENT.plugins
COMMIT = ENVIRONMENT.commit
ORIGINS = ENVIRONMENT.origins
TRUSTED_PROXIES = ENVIRONMENT.trusted_proxies

DEBUG = ENVIRONMENT.debug
SECRET_KEY = ENVIRONMENT.secret_key
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)
ROOT_URLCONF = "evalsite.urls"
ASGI_APPLICATION = "evalsite.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    # Without its search for the admin of every app: urls.py does that, for those who show it.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "runs",
]

MIDDLEWARE = [
    "evalsite.request_ids.RequestIdMiddleware",
    "evalsite.client_address.ClientAddressMiddleware",
    "runs.api.middleware.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "evalsite.headers.SecurityHeadersMiddleware",
    "evalsite.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "runs.large_bodies.LargeBodyMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "evalsite.session_age.SessionAgeMiddleware",
    # Everything needs a sign-in unless the view says @login_not_required.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "runs.local_time.LocalTimeMiddleware",
    # Who comes in from where, for the audit table, which also has the refusals below.
    "runs.doors.DoorMiddleware",
    # And the permission that the view declares; one that declares none is refused.
    "runs.permissions.PermissionMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [RESOURCES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "runs.context_processors.theme",
                "runs.context_processors.health",
                "runs.context_processors.permissions",
            ],
        },
    },
]

DATABASES = {"default": database_settings(ENVIRONMENT.database_url, ENVIRONMENT.data)}

# The pub/sub layer: the core layer drops the newest frames without a word when a reader lags.
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "evalsite"},
    }
}

# --- People and sessions
AUTHENTICATION_BACKENDS = ["runs.accounts_backend.AccountsBackend"]
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "sign_in"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
_VALIDATION = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_VALIDATION}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_VALIDATION}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_VALIDATION}.CommonPasswordValidator"},
    {"NAME": f"{_VALIDATION}.NumericPasswordValidator"},
]
SESSION_COOKIE_AGE = int(timedelta(hours=12).total_seconds())  # idle; session_age.py renews it
SESSION_ABSOLUTE_AGE = timedelta(days=7)
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT.is_https
# Browsers only take a __Host- cookie over https, for this host alone and for all its paths.
_COOKIE_PREFIX = "__Host-" if ENVIRONMENT.is_https else "evalsite_"
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}session"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrf"
PROVIDER_COOKIE_NAME = f"{_COOKIE_PREFIX}provider"  # runs/services/people/provider.py
DEVICE_COOKIE_NAME = f"{_COOKIE_PREFIX}device"  # runs/services/people/devices.py
# Notices go with the session: a cookie of their own could not be locked to this host.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
PASSWORD_RESET_TIMEOUT = int(timedelta(days=3).total_seconds())  # of links to choose a password
CSRF_TRUSTED_ORIGINS = list(ORIGINS)

# --- Headers
_WEBSOCKET_ORIGINS = [
    f"{'wss' if origin.startswith('https') else 'ws'}://{urlsplit(origin).netloc}"
    for origin in ORIGINS
]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'", *_WEBSOCKET_ORIGINS],
        "font-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if ENVIRONMENT.is_https:
    # TLS ends at a proxy, which must set this header itself and drop the one a client sends.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = int(timedelta(days=365).total_seconds())
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains: not ours to decide for the neighbours of this host
    "security.W008",  # redirect to https: the proxy's job; healthz is asked over plain http
    "security.W021",  # HSTS preload: a decision about the whole domain
]
if not ENVIRONMENT.is_https:
    SILENCED_SYSTEM_CHECKS += [
        # The loopback default speaks plain http; https origins turn all three on.
        "security.W004",  # HSTS
        "security.W012",  # Secure session cookie
        "security.W016",  # Secure CSRF cookie
    ]

# --- Static files, straight from where they lie: no collectstatic step
STATIC_URL = "/static/"
STATICFILES_DIRS = [
    RESOURCES / "static",
    ("guides", RESOURCES / "docs" / "screenshots"),
    ("uplot", RESOURCES / "node_modules" / "uplot" / "dist"),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "evalsite.static_files.VersionedStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG  # off: files are listed once, at the start
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_MAX_AGE = 0  # ask again, cheaply (304); versioned addresses are kept for a year

# --- Bodies: how large a request may be, see runs/body_limits.py; of an upload, the fields
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
FILE_UPLOAD_PERMISSIONS = 0o600

# --- Mail: for alerts, see workers/messenger.py
SENDS_MAIL = ENVIRONMENT.mail is not None
if ENVIRONMENT.mail is not None:
    EMAIL_HOST, EMAIL_PORT = ENVIRONMENT.mail.host, ENVIRONMENT.mail.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = ENVIRONMENT.mail.user, ENVIRONMENT.mail.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = ENVIRONMENT.mail.starttls, ENVIRONMENT.mail.tls
    DEFAULT_FROM_EMAIL = ENVIRONMENT.mail.sender

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "evalsite.log_lines.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        # Django's own handlers mail admins and colour the console; ours is enough.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        # One line per request says nothing that a page or the ledger does not.
        "django.channels.server": {"level": "WARNING"},
        "daphne": {"level": "WARNING"},
        "dramatiq": {"level": "WARNING"},
        # Somebody else's host name in a request: refused, and none of our doing.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
