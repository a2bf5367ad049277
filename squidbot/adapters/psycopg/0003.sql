-- Search no longer needs how many terms the memories of a view have.

ALTER TABLE {schema}.memory_views DROP COLUMN terms;
