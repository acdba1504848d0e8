# One image for web, worker and migrate; compose.yaml says which is which.
# What is built here is what `make run` installs: the same lock files, nothing else.

FROM node:22-slim AS browser
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM python:3.11-slim AS packages
COPY requirements/run.lock /build/
# Wheels only: no compiler is needed, and no package's own build script runs.
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --only-binary :all: --require-hashes \
       -r /build/run.lock \
    && /opt/venv/bin/pip uninstall --yes pip setuptools

FROM python:3.11-slim
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin evalsite \
    && install --directory --owner evalsite --group evalsite --mode 0700 /data
COPY --from=packages /opt/venv /opt/venv
COPY --from=browser /build/node_modules /srv/evalsite/node_modules
COPY manage.py /srv/evalsite/
COPY evalsite /srv/evalsite/evalsite
COPY runs /srv/evalsite/runs
COPY workers /srv/evalsite/workers
COPY templates /srv/evalsite/templates
COPY static /srv/evalsite/static
COPY docs /srv/evalsite/docs
# Byte code now: the file system is read-only when it runs.
RUN /opt/venv/bin/python -m compileall -q /srv/evalsite

# Kept with the facts of every run: docker build --build-arg EVALSITE_COMMIT="$(git rev-parse HEAD)" .
ARG EVALSITE_COMMIT=""

WORKDIR /srv/evalsite
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    EVALSITE_DATA=/data \
    EVALSITE_COMMIT=$EVALSITE_COMMIT
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["python", "-m", "evalsite.web", "-b", "0.0.0.0", "-p", "8000", "--websocket-max-message-size", "65536", "--websocket-max-frame-size", "65536", "--websocket_connect_timeout", "30", "--no-server-name", "-v", "0", "evalsite.asgi:application"]
