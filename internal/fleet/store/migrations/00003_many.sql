-- +goose Up
-- The hardware and the role that peers share, an exception that a document itself has, and effects of experiments.
ALTER TABLE host ADD COLUMN stratum TEXT NOT NULL DEFAULT '';
ALTER TABLE host ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE finding_span ADD COLUMN exception TEXT NOT NULL DEFAULT '';
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
    void       TEXT NOT NULL,
    evidence   TEXT NOT NULL,
    PRIMARY KEY (document, experiment, contrast, response)
);
CREATE INDEX effect_study ON effect(study);
-- +goose Down
DROP TABLE effect;
ALTER TABLE finding_span DROP COLUMN exception;
ALTER TABLE host DROP COLUMN role;
ALTER TABLE host DROP COLUMN stratum;
