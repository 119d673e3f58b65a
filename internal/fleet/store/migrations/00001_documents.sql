-- +goose Up
-- One text for SQLite and PostgreSQL. Times are ns since 1970; until is 9223372036854775807 while something holds.
-- A span is what documents say from one moment to the next document that says otherwise.
CREATE TABLE host (
    name       TEXT PRIMARY KEY,
    machine    TEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen  BIGINT NOT NULL,
    stratum    TEXT NOT NULL DEFAULT '', -- the hardware that peers share
    role       TEXT NOT NULL DEFAULT ''
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
    exception TEXT NOT NULL DEFAULT '', -- of the document itself
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
    estimate        DOUBLE PRECISION,
    at_most         DOUBLE PRECISION,
    verdict         TEXT NOT NULL,
    evidence        TEXT NOT NULL,
    reason          TEXT NOT NULL,
    command         TEXT NOT NULL,
    seconds_per_day DOUBLE PRECISION,
    PRIMARY KEY (document, name)
);
CREATE TABLE effect (
    document   BIGINT NOT NULL REFERENCES document(id),
    experiment TEXT NOT NULL,
    study      TEXT NOT NULL,
    study_hash TEXT NOT NULL,
    contrast   TEXT NOT NULL,
    response   TEXT NOT NULL,
    compare    TEXT NOT NULL,
    unit       TEXT NOT NULL,
    better     TEXT NOT NULL,
    value      DOUBLE PRECISION,
    low        DOUBLE PRECISION,
    high       DOUBLE PRECISION,
    alpha      DOUBLE PRECISION,
    n          BIGINT NOT NULL,
    margin     DOUBLE PRECISION,
    noise      DOUBLE PRECISION,
    verdict    TEXT NOT NULL,
    evidence   TEXT NOT NULL,
    PRIMARY KEY (document, experiment, contrast, response)
);
CREATE INDEX effect_study ON effect(study);
-- Plans of roll-outs: documents of no host.
CREATE TABLE rollout (
    sha256   TEXT PRIMARY KEY,
    created  BIGINT NOT NULL,
    received BIGINT NOT NULL,
    source   TEXT NOT NULL,
    body     BYTEA NOT NULL
);
-- What verify said since a plan was made: few documents of many.
CREATE INDEX document_verify ON document(started) WHERE kind = 'verify';
CREATE INDEX finding_verify ON finding_span(until) WHERE role = 'verify';
-- Pages ask what changed lately on all hosts, and what one check says on each.
CREATE INDEX fact_changed ON fact_span(since);
CREATE INDEX finding_changed ON finding_span(since);
CREATE INDEX finding_check ON finding_span(check_id, until);
-- +goose Down
DROP TABLE rollout;
DROP TABLE effect;
DROP TABLE lever;
DROP TABLE measurement;
DROP TABLE finding_span;
DROP TABLE fact_span;
DROP TABLE document;
DROP TABLE host;
