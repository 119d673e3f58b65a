-- +goose Up
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
-- +goose Down
DROP INDEX finding_verify;
DROP INDEX document_verify;
DROP TABLE rollout;
