-- +goose Up
-- One text for SQLite and PostgreSQL. Times are ns since 1970; until is 9223372036854775807 while something holds.
-- A span is what documents say from one moment to the next document that says otherwise.
CREATE TABLE host (
    name       TEXT PRIMARY KEY,
    machine    TEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen  BIGINT NOT NULL
);
CREATE TABLE document (
    id       BIGINT PRIMARY KEY,
    host     TEXT NOT NULL REFERENCES host(name),
    kind     TEXT NOT NULL,
    form     BIGINT NOT NULL,
    version  TEXT NOT NULL,
    role     TEXT NOT NULL,
    started  BIGINT NOT NULL,
    received BIGINT NOT NULL,
    sha256   TEXT NOT NULL UNIQUE,
    source   TEXT NOT NULL,
    service  TEXT NOT NULL,
    verdict  TEXT NOT NULL,
    body     BYTEA
);
CREATE INDEX document_of ON document(host, started);
CREATE TABLE fact_span (
    host  TEXT NOT NULL REFERENCES host(name),
    path  TEXT NOT NULL,
    value TEXT NOT NULL,
    unit  TEXT NOT NULL,
    state TEXT NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (host, path, since)
);
CREATE TABLE finding_span (
    host     TEXT NOT NULL REFERENCES host(name),
    role     TEXT NOT NULL,
    check_id TEXT NOT NULL,
    status   TEXT NOT NULL,
    severity TEXT NOT NULL,
    detail   TEXT NOT NULL,
    since    BIGINT NOT NULL,
    until    BIGINT NOT NULL,
    PRIMARY KEY (host, role, check_id, since)
);
CREATE INDEX finding_now ON finding_span(until, status);
CREATE TABLE measurement (
    document BIGINT NOT NULL REFERENCES document(id),
    name     TEXT NOT NULL,
    value    DOUBLE PRECISION NOT NULL,
    low      DOUBLE PRECISION,
    high     DOUBLE PRECISION,
    n        BIGINT NOT NULL,
    noise    DOUBLE PRECISION,
    unit     TEXT NOT NULL,
    evidence TEXT NOT NULL,
    PRIMARY KEY (document, name)
);
CREATE TABLE lever (
    document        BIGINT NOT NULL REFERENCES document(id),
    name            TEXT NOT NULL,
    likely          DOUBLE PRECISION,
    at_most         DOUBLE PRECISION,
    verdict         TEXT NOT NULL,
    evidence        TEXT NOT NULL,
    reason          TEXT NOT NULL,
    command         TEXT NOT NULL,
    seconds_per_day DOUBLE PRECISION,
    PRIMARY KEY (document, name)
);
-- +goose Down
DROP TABLE lever;
DROP TABLE measurement;
DROP TABLE finding_span;
DROP TABLE fact_span;
DROP TABLE document;
DROP TABLE host;
