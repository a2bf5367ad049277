-- Transcripts, records, summaries, claims and tasks. `{schema}` is the schema of the settings.
-- All texts are bytes: PostgreSQL's text has no NUL, and UTF-8 no lone surrogates. Names of up to 1,024 characters are too
-- long for an index, so rows are found by the SHA-256 of a name.
-- Every row has its tenant, so that one policy for each table separates tenants (`separate_tenants`). Where that is on,
-- PostgreSQL uses an index only for operators that can't tell anything of other rows: = and < of numbers and bytes can't.

CREATE FUNCTION {schema}.tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(current_setting('squidbot.tenant', true), '');

-- Begins a transaction: whose rows it sees, that it is on the disk before it is acknowledged, and that it waits for a lock
-- no longer than its client may.
CREATE FUNCTION {schema}.enter(of_tenant text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF of_tenant IS NOT NULL THEN
        PERFORM set_config('squidbot.tenant', of_tenant, true);
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF current_setting('lock_timeout') = '0' THEN
        PERFORM set_config('lock_timeout', '10s', true);
    END IF;
END $$;

CREATE TABLE {schema}.sessions(
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    key bytea NOT NULL,                        -- SHA-256 of the id
    messages integer NOT NULL DEFAULT 0,
    records integer NOT NULL DEFAULT 0,        -- of all kinds
    written timestamptz NOT NULL DEFAULT now(),
    id bytea NOT NULL
) WITH (
    -- Each append updates one row, and no index: it finds room on its page, and old versions go when the page is read.
    fillfactor = 70,
    -- Many are updated between two visits: by number, not by share of the table.
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000
);
CREATE UNIQUE INDEX sessions_key ON {schema}.sessions(tenant, key);

CREATE TABLE {schema}.messages(
    session bigint NOT NULL,
    bound bigint NOT NULL,
    estimate bigint NOT NULL,
    turn bigint NOT NULL,
    checksum bigint NOT NULL,
    time double precision,                     -- seconds since 1970
    seq integer NOT NULL,
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    form bytea NOT NULL,                       -- JSON: role, category, codec, counter
    call_ids bytea,                            -- JSON; NULL for none
    result_ids bytea,
    frozen bytea,                              -- JSON: sent_text, sent_arguments, notice, sent_cost; NULL: sent as said
    payload bytea NOT NULL,                    -- compressed by zlib behind a byte 0xff, where that pays
    PRIMARY KEY(session, seq)
);
ALTER TABLE {schema}.messages ALTER payload SET STORAGE EXTERNAL;  -- it does not shrink any more

CREATE TABLE {schema}.records(
    session bigint NOT NULL,
    checksum bigint NOT NULL,
    number integer NOT NULL,
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    kind bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY(session, kind, number)
);

CREATE TABLE {schema}.summaries(
    session bigint NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    estimate bigint NOT NULL,
    bound bigint NOT NULL,
    checksum bigint NOT NULL,
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    key bytea NOT NULL,                        -- SHA-256 of the id
    id bytea NOT NULL,
    level bytea NOT NULL,
    counter bytea NOT NULL,
    source_digest bytea NOT NULL,
    made_by bytea NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY(session, key)
);
CREATE INDEX summaries_place ON {schema}.summaries(session, first_seq);

CREATE TABLE {schema}.claims(
    until double precision NOT NULL,           -- seconds since 1970
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    place bytea NOT NULL,                      -- SHA-256 of any name, of a session or not
    kind bytea NOT NULL,                       -- SHA-256
    holder bytea NOT NULL,                     -- SHA-256
    PRIMARY KEY(tenant, place, kind)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- How far the clock of this server is ahead of a program's, in seconds; 0 for less than one, which a trip may take. So
-- claims run out by one clock, whatever those of the machines say.
CREATE FUNCTION {schema}.ahead(of_program double precision) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    difference double precision := extract(epoch FROM clock_timestamp()) - of_program;
BEGIN
    RETURN CASE WHEN abs(difference) < 1 THEN 0 ELSE difference END;
END $$;

-- What was begun and has to be ended, by this program or the next one.
CREATE TABLE {schema}.tasks(
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    key bytea NOT NULL,                        -- SHA-256 of the body
    body bytea NOT NULL
);
CREATE UNIQUE INDEX tasks_key ON {schema}.tasks(tenant, key);

-- The search index: terms as 32-bit digests of session and term, so no word can be read from it; of a million words, one in
-- four thousand has another one's digest. A row is a block of 64 messages: for each term a mask of the messages that have
-- it, bit 0 for the first. Messages behind the last block are searched as they are. A GIN index of single messages' terms
-- takes four times the space.
CREATE TABLE {schema}.words(
    session bigint NOT NULL,
    block integer NOT NULL,                    -- seq / 64
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    terms integer[] NOT NULL,                  -- in ascending order
    masks bigint[] NOT NULL,
    PRIMARY KEY(session, block)
);
-- Without a list of pending entries: nobody's search reads it, and nobody's append has to empty it.
CREATE INDEX words_terms ON {schema}.words USING gin(terms) WITH (fastupdate = off);

-- Appends behind the last message and record, or says why not: (outcome, number that is due, kind). The row of the
-- session is locked first, and each statement of a function reads what is committed then: lock, look and insert in one
-- statement would read what was there before the lock.
CREATE FUNCTION {schema}.append(
    of_id bytea, of_key bytea, expected bigint,
    bounds bigint[], estimates bigint[], turns bigint[], checksums bigint[], times double precision[], forms bytea[],
    calls bytea[], results bytea[], frozens bytea[], payloads bytea[],
    kinds bytea[], numbers bigint[], record_checksums bigint[], bodies bytea[],
    OUT outcome text, OUT due bigint, OUT of_kind bytea
) LANGUAGE plpgsql AS $$
DECLARE
    many integer := cardinality(payloads);
    noted integer := cardinality(bodies);
    found record;
BEGIN
    PERFORM {schema}.enter(NULL);
    LOOP
        SELECT no, messages INTO found FROM {schema}.sessions s
            WHERE s.tenant = {schema}.tenant() AND s.key = of_key FOR UPDATE;
        outcome := 'written';
        IF coalesce(found.messages, 0) <> expected THEN
            outcome := 'other writer';
            due := coalesce(found.messages, 0);
            RETURN;
        END IF;
        FOR at IN 1..noted LOOP
            due := cardinality(array_positions(kinds[1:at - 1], kinds[at])) + coalesce((
                SELECT r.number + 1 FROM {schema}.records r
                WHERE r.session = found.no AND r.kind = kinds[at] ORDER BY r.number DESC LIMIT 1
            ), 0);
            IF due <> numbers[at] THEN
                outcome := 'record';
                of_kind := kinds[at];
                RETURN;
            END IF;
        END LOOP;
        IF many + noted = 0 THEN
            RETURN;
        END IF;
        EXIT WHEN found.no IS NOT NULL;
        INSERT INTO {schema}.sessions(key, id) VALUES(of_key, of_id) ON CONFLICT DO NOTHING;
    END LOOP;
    IF many = 1 THEN  -- as most: in a third of the time
        INSERT INTO {schema}.messages(
            session, seq, bound, estimate, turn, checksum, time, form, call_ids, result_ids, frozen, payload
        ) VALUES(
            found.no, expected, bounds[1], estimates[1], turns[1], checksums[1], times[1], forms[1], calls[1], results[1],
            frozens[1], payloads[1]
        );
    ELSIF many > 0 THEN
        INSERT INTO {schema}.messages(
            session, seq, bound, estimate, turn, checksum, time, form, call_ids, result_ids, frozen, payload
        )
            SELECT found.no, expected + each.at - 1, bound, estimate, turn, checksum, time, form, call, result, frozen, payload
            FROM unnest(bounds, estimates, turns, checksums, times, forms, calls, results, frozens, payloads)
                WITH ORDINALITY AS each(bound, estimate, turn, checksum, time, form, call, result, frozen, payload, at);
    END IF;
    FOR at IN 1..noted LOOP
        INSERT INTO {schema}.records(session, kind, number, checksum, body)
            VALUES(found.no, kinds[at], numbers[at], record_checksums[at], bodies[at]);
    END LOOP;
    UPDATE {schema}.sessions SET messages = messages + many, records = records + noted, written = now()
        WHERE no = found.no;
END $$;

-- Stores a summary; returns whether it, or one that is equal to it, is there.
CREATE FUNCTION {schema}.put(
    of_id bytea, of_key bytea,
    first_seq bigint, last_seq bigint, estimate bigint, bound bigint, checksum bigint,
    key bytea, id bytea, level bytea, counter bytea, source_digest bytea, made_by bytea, of_text bytea
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    of_session bigint;
BEGIN
    PERFORM {schema}.enter(NULL);
    INSERT INTO {schema}.sessions(key, id) VALUES(of_key, of_id) ON CONFLICT DO NOTHING;
    SELECT no INTO of_session FROM {schema}.sessions s WHERE s.tenant = {schema}.tenant() AND s.key = of_key FOR UPDATE;
    INSERT INTO {schema}.summaries(
        session, first_seq, last_seq, estimate, bound, checksum, key, id, level, counter, source_digest, made_by, text
    ) VALUES(
        of_session, put.first_seq, put.last_seq, put.estimate, put.bound, put.checksum, put.key, put.id, put.level,
        put.counter, put.source_digest, put.made_by, of_text
    ) ON CONFLICT DO NOTHING;
    RETURN EXISTS(
        SELECT 1 FROM {schema}.summaries u
        WHERE u.session = of_session AND u.key = put.key AND u.checksum = put.checksum AND u.first_seq = put.first_seq
            AND u.last_seq = put.last_seq AND u.estimate = put.estimate AND u.bound = put.bound AND u.level = put.level
            AND u.counter = put.counter AND u.source_digest = put.source_digest AND u.made_by = put.made_by
            AND u.text = of_text
    );
END $$;

-- The seq at which the bounds of the newest messages exceed a budget; 0 where they never do.
CREATE FUNCTION {schema}.first_past(of_session bigint, budget bigint) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    spent numeric := 0;
    each record;
BEGIN
    FOR each IN SELECT seq, bound FROM {schema}.messages WHERE session = of_session ORDER BY seq DESC LOOP
        spent := spent + each.bound;
        IF spent > budget THEN
            RETURN each.seq;
        END IF;
    END LOOP;
    RETURN 0;
END $$;

-- One change of a session's search index at a time; appends don't wait for it.
CREATE FUNCTION {schema}.lock_words(of_session bigint) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashint8('{schema}.words'::regclass::oid::bigint), hashint8(of_session))
$$;

-- Takes messages out of the index.
CREATE FUNCTION {schema}.unindex(of_session bigint, seqs bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM {schema}.lock_words(of_session);
    UPDATE {schema}.words w SET (terms, masks) = (
        SELECT coalesce(array_agg(left_over.term ORDER BY left_over.term), '{{}}'),
            coalesce(array_agg(left_over.mask ORDER BY left_over.term), '{{}}')
        FROM (
            SELECT each.term, each.mask & ~gone.mask AS mask FROM unnest(w.terms, w.masks) AS each(term, mask)
        ) AS left_over WHERE left_over.mask <> 0
    ) FROM (
        SELECT each / 64 AS block, bit_or(1::bigint << (each % 64)::integer) AS mask FROM unnest(seqs) AS each GROUP BY 1
    ) AS gone WHERE w.session = of_session AND w.block = gone.block;
END $$;

-- The newest messages of blocks, below a seq, that have each of the words: {{"[[[term, ...], ...], ...]"}} in JSON, each word with its
-- alternatives, each of them with its terms. It runs with the rights of who made the tables, since a policy keeps
-- PostgreSQL from an index of arrays; the tenant is looked at here.
CREATE FUNCTION {schema}.newest(of_session bigint, words jsonb, below integer, most integer)
RETURNS SETOF integer LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted text;
    each record;
    whole bigint;
    found integer[] := '{{}}';
BEGIN
    SELECT string_agg('(' || of_word.either || ')', ' AND ') INTO wanted FROM (
        SELECT string_agg(format('terms @> %L::integer[]', translate(alternative::text, '[]', '{{}}')), ' OR ') AS either
        FROM jsonb_array_elements(words) AS word, jsonb_array_elements(word) AS alternative GROUP BY word
    ) AS of_word;
    FOR each IN EXECUTE format(
        'SELECT block, terms, masks FROM {schema}.words WHERE session = $1 AND tenant = {schema}.tenant() AND block <= $2 '
        'AND %s ORDER BY block DESC', wanted
    ) USING of_session, below / 64 LOOP
        SELECT bit_and(of_word.mask) INTO whole FROM (
            SELECT bit_or(of_alternative.mask) AS mask FROM (
                SELECT word.at AS word, bit_and(CASE
                    WHEN each.terms[width_bucket(term::integer, each.terms)] = term::integer
                    THEN each.masks[width_bucket(term::integer, each.terms)] ELSE 0
                END) AS mask
                FROM jsonb_array_elements(words) WITH ORDINALITY AS word(alternatives, at),
                    jsonb_array_elements(word.alternatives) WITH ORDINALITY AS alternative(terms, at),
                    jsonb_array_elements_text(alternative.terms) AS term
                GROUP BY word.at, alternative.at
            ) AS of_alternative GROUP BY of_alternative.word
        ) AS of_word;
        found := found || ARRAY(
            SELECT each.block * 64 + bit FROM generate_series(63, 0, -1) AS bit
            WHERE (whole >> bit) & 1 = 1 AND each.block * 64 + bit < below
        );
        EXIT WHEN cardinality(found) >= most;
    END LOOP;
    RETURN QUERY SELECT seq FROM unnest(found) AS seq ORDER BY seq DESC LIMIT most;
END $$;

-- Separates the tenants from then on: each connection reads and writes the rows of its own one alone, whatever its
-- statements say. Called by whom the tables belong to.
CREATE FUNCTION {schema}.separate_tenants() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    each text;
BEGIN
    FOR each IN
        SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = {schema_text}::regnamespace AND c.relkind = 'r' AND a.attname = 'tenant'
    LOOP
        IF NOT EXISTS(
            SELECT FROM pg_catalog.pg_policies WHERE schemaname = {schema_text} AND tablename = each AND policyname = 'tenant'
        ) THEN
            EXECUTE format(
                'CREATE POLICY tenant ON {schema}.%I USING (tenant = {schema}.tenant()) '
                'WITH CHECK (tenant = {schema}.tenant())', each
            );
        END IF;
        EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', each);
        IF each <> 'words' THEN  -- `newest` reads it with the rights of the owner
            EXECUTE format('ALTER TABLE {schema}.%I FORCE ROW LEVEL SECURITY', each);
        END IF;
    END LOOP;
END $$;
