-- +goose Up
-- Plans of roll-outs: documents of no host.
CREATE TABLE rollout (
    sha256   TEXT PRIMARY KEY,
    created  BIGINT NOT NULL,
    received BIGINT NOT NULL,
    source   TEXT NOT NULL,
    body     BYTEA NOT NULL
);
-- +goose Down
DROP TABLE rollout;
