#!/bin/sh
# Runs once, when PostgreSQL makes its files: one role that owns the tables (migrations), and one
# for the site that may read and change rows but make or drop nothing.
set -eu

psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname "$POSTGRES_DB" \
  --set owner_password="$(cat "${OWNER_PASSWORD_FILE:-/run/secrets/owner_password}")" \
  --set app_password="$(cat "${APP_PASSWORD_FILE:-/run/secrets/app_password}")" \
  --set database="$POSTGRES_DB" <<'SQL'
CREATE ROLE evalsite_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE evalsite LOGIN PASSWORD :'app_password';
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO evalsite_owner, evalsite;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO evalsite_owner;
GRANT USAGE ON SCHEMA public TO evalsite;
ALTER DEFAULT PRIVILEGES FOR ROLE evalsite_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO evalsite;
ALTER DEFAULT PRIVILEGES FOR ROLE evalsite_owner IN SCHEMA public
  GRANT USAGE, SELECT ON SEQUENCES TO evalsite;
SQL
