-- +goose Up
-- Pages ask what changed lately on all hosts, and what one check says on each.
CREATE INDEX fact_changed ON fact_span(since);
CREATE INDEX finding_changed ON finding_span(since);
CREATE INDEX finding_check ON finding_span(check_id, until);
-- +goose Down
DROP INDEX finding_check;
DROP INDEX finding_changed;
DROP INDEX fact_changed;
