-- Transcripts, records, summaries and claims. `{schema}` is the schema of the settings.
-- All texts are bytes: PostgreSQL's text has no NUL, and UTF-8 no lone surrogates. Names of up to 1,024 characters are too
-- long for an index, so their SHA-256 is indexed.

CREATE TABLE {schema}.sessions(
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id bytea NOT NULL,
    messages integer NOT NULL DEFAULT 0,
    records integer NOT NULL DEFAULT 0         -- of all kinds
) WITH (fillfactor = 70);                      -- each append updates one row: it finds room on its page
CREATE UNIQUE INDEX sessions_id ON {schema}.sessions(sha256(id));

CREATE TABLE {schema}.messages(
    session bigint NOT NULL,
    seq integer NOT NULL,
    bound bigint NOT NULL,
    estimate bigint NOT NULL,
    turn bigint NOT NULL,
    checksum bigint NOT NULL,
    time double precision,                     -- seconds since 1970
    form bytea NOT NULL,                       -- JSON: role, category, codec, counter
    call_ids bytea,                            -- JSON; NULL for none
    result_ids bytea,
    frozen bytea,                              -- JSON: sent_text, sent_arguments, notice, sent_cost; NULL: sent as said
    payload bytea NOT NULL,
    PRIMARY KEY(session, seq)
);

CREATE TABLE {schema}.records(
    session bigint NOT NULL,
    kind bytea NOT NULL,
    number integer NOT NULL,
    checksum bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY(session, kind, number)
);

CREATE TABLE {schema}.summaries(
    session bigint NOT NULL,
    id bytea NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    estimate bigint NOT NULL,
    bound bigint NOT NULL,
    checksum bigint NOT NULL,
    level bytea NOT NULL,
    counter bytea NOT NULL,
    source_digest bytea NOT NULL,
    made_by bytea NOT NULL,
    text bytea NOT NULL
);
CREATE UNIQUE INDEX summaries_id ON {schema}.summaries(session, sha256(id));
CREATE INDEX summaries_place ON {schema}.summaries(session, first_seq);

CREATE TABLE {schema}.claims(
    session bytea NOT NULL,                    -- any name, of a session or not
    kind bytea NOT NULL,
    holder bytea NOT NULL,
    until double precision NOT NULL            -- seconds since 1970
);
CREATE UNIQUE INDEX claims_place ON {schema}.claims(sha256(session), sha256(kind));

-- The search index: the terms of each message, as 64-bit digests of session and term. So the list of a common word is
-- no longer than its session, and no word can be read from it.
CREATE TABLE {schema}.words(
    session bigint NOT NULL,
    seq integer NOT NULL,
    terms bigint[] NOT NULL,
    PRIMARY KEY(session, seq)
);
CREATE INDEX words_terms ON {schema}.words USING gin(terms);

-- Appends behind the last message and record, or says why not: (outcome, number that is due, kind). The row of the
-- session is locked first, and each statement of a function reads what is committed then: lock, look and insert in one
-- statement would read what was there before the lock.
CREATE FUNCTION {schema}.append(
    of_session bytea, expected bigint,
    bounds bigint[], estimates bigint[], turns bigint[], checksums bigint[], times double precision[], forms bytea[],
    calls bytea[], results bytea[], frozens bytea[], payloads bytea[], terms text[],
    kinds bytea[], numbers bigint[], record_checksums bigint[], bodies bytea[],
    OUT outcome text, OUT due bigint, OUT of_kind bytea, OUT of_no bigint
) LANGUAGE plpgsql AS $$
DECLARE
    many integer := cardinality(payloads);
    noted integer := cardinality(bodies);
    found record;
BEGIN
    LOOP
        SELECT no, messages INTO found FROM {schema}.sessions s
            WHERE sha256(s.id) = sha256(of_session) AND s.id = of_session FOR UPDATE;
        outcome := 'written';
        IF coalesce(found.messages, 0) <> expected THEN
            outcome := 'other writer';
            due := coalesce(found.messages, 0);
            RETURN;
        END IF;
        SELECT 'record', wanted.kind, wanted.place INTO outcome, of_kind, due FROM (
            SELECT each.kind, each.number, row_number() OVER (PARTITION BY each.kind ORDER BY each.at) - 1 + coalesce((
                SELECT r.number + 1 FROM {schema}.records r
                WHERE r.session = found.no AND r.kind = each.kind ORDER BY r.number DESC LIMIT 1
            ), 0) AS place, each.at
            FROM unnest(kinds, numbers) WITH ORDINALITY AS each(kind, number, at)
        ) AS wanted WHERE wanted.number <> wanted.place ORDER BY wanted.at LIMIT 1;
        IF outcome = 'record' THEN
            RETURN;
        END IF;
        outcome := 'written';
        of_no := found.no;
        IF many + noted = 0 THEN
            RETURN;
        END IF;
        EXIT WHEN found.no IS NOT NULL;
        INSERT INTO {schema}.sessions(id) VALUES(of_session) ON CONFLICT DO NOTHING;
    END LOOP;
    INSERT INTO {schema}.messages
        SELECT found.no, expected + each.at - 1, bound, estimate, turn, checksum, time, form, call, result, frozen, payload
        FROM unnest(bounds, estimates, turns, checksums, times, forms, calls, results, frozens, payloads)
            WITH ORDINALITY AS each(bound, estimate, turn, checksum, time, form, call, result, frozen, payload, at);
    INSERT INTO {schema}.words
        SELECT found.no, expected + each.at - 1, each.of_one::bigint[]
        FROM unnest(terms) WITH ORDINALITY AS each(of_one, at) WHERE each.of_one <> '{{}}';
    INSERT INTO {schema}.records
        SELECT found.no, kind, number, checksum, body
        FROM unnest(kinds, numbers, record_checksums, bodies) AS each(kind, number, checksum, body);
    UPDATE {schema}.sessions SET messages = messages + many, records = records + noted WHERE no = found.no;
END $$;

-- The seq at which the bounds of the newest messages exceed a budget; 0 where they never do.
CREATE FUNCTION {schema}.first_past(of_no bigint, budget bigint) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    spent numeric := 0;
    each record;
BEGIN
    FOR each IN SELECT seq, bound FROM {schema}.messages WHERE session = of_no ORDER BY seq DESC LOOP
        spent := spent + each.bound;
        IF spent > budget THEN
            RETURN each.seq;
        END IF;
    END LOOP;
    RETURN 0;
END $$;
