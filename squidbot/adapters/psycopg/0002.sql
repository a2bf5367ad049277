-- Facts, the lists of words by which they are found, and their vectors. One process at a time writes facts of a tenant,
-- so their keys become visible in ascending order. Row level security leaves a search only the comparisons that
-- PostgreSQL calls leakproof: those of numbers and bytes, none of arrays. So the lists are rows, not a GIN index.

CREATE TABLE {schema}.memories(
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    key bigint NOT NULL,                       -- in the order of their coming; never used again
    id bytea NOT NULL,
    owner bigint NOT NULL,                     -- this and the next three: digests of the views that see it
    bot bigint NOT NULL,
    agent bigint NOT NULL,
    model bigint NOT NULL,
    time double precision NOT NULL,            -- seconds since 1970
    importance double precision NOT NULL,
    checksum bigint NOT NULL,                  -- CRC-32 of all other cells
    category bytea NOT NULL,
    trust bytea NOT NULL,
    supersedes bytea,                          -- NULL for none
    superseded_by bytea,                       -- NULL while it holds
    scope bytea NOT NULL,                      -- JSON, as the next two
    tags bytea,
    sources bytea,
    speaker bytea NOT NULL,
    reason bytea NOT NULL,
    text bytea NOT NULL,
    holds boolean GENERATED ALWAYS AS (superseded_by IS NULL) STORED,
    -- A document's card: its scope has eight parts, the last is the collection. A quote in a part has a backslash before it.
    is_card boolean GENERATED ALWAYS AS (scope LIKE '%","%","%","%","%","%","%","cards"]'::bytea) STORED,
    PRIMARY KEY(tenant, key)
);
CREATE UNIQUE INDEX memories_id ON {schema}.memories(tenant, sha256(id));
CREATE INDEX memories_of_owner ON {schema}.memories(tenant, owner, holds, category, time, key);
CREATE INDEX memories_of_bot ON {schema}.memories(tenant, bot, holds, category, time, key);
CREATE INDEX memories_of_agent ON {schema}.memories(tenant, agent, holds, category, time, key);
CREATE INDEX memories_of_model ON {schema}.memories(tenant, model, holds, category, time, key);
CREATE INDEX memories_cards ON {schema}.memories(tenant, key) WHERE is_card;

CREATE TABLE {schema}.forgotten_memories(
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    key bigint NOT NULL,                       -- that of the memory, and so are the next three
    id bytea NOT NULL,
    owner bigint NOT NULL,
    time double precision NOT NULL,
    checksum bigint NOT NULL,
    forgotten double precision NOT NULL,       -- when, in seconds since 1970
    reason bytea NOT NULL,
    PRIMARY KEY(tenant, key)
);
CREATE INDEX forgotten_memories_id ON {schema}.forgotten_memories(tenant, sha256(id));

CREATE TABLE {schema}.memory_marks(
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    session bytea NOT NULL,
    reader bytea NOT NULL,
    mark bytea NOT NULL,                       -- JSON: next seq, version, stamp
    checksum bigint NOT NULL
);
CREATE UNIQUE INDEX memory_marks_place ON {schema}.memory_marks(tenant, sha256(session), sha256(reader));

-- The list of a word: the keys of the memories that have it, in rows of up to 240. A row has the keys from `first` up to
-- the next row's. A word is a 64-bit digest of itself and of the memories' owner, so none can be read from it. Those that
-- hold and those that are history have lists of their own.
CREATE TABLE {schema}.memory_words(
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    word bigint NOT NULL,
    first bigint NOT NULL,
    keys bytea NOT NULL,                       -- 8 bytes each, little-endian, ascending
    PRIMARY KEY(tenant, word, first)
) WITH (fillfactor = 80);
ALTER TABLE {schema}.memory_words ALTER COLUMN keys SET STORAGE PLAIN;

CREATE TABLE {schema}.memory_views(
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    view bigint NOT NULL,
    live bigint NOT NULL,                      -- how many memories hold
    past bigint NOT NULL,                      -- how many are history
    terms bigint NOT NULL,                     -- how many terms both have
    PRIMARY KEY(tenant, view)
) WITH (fillfactor = 70);

-- The changes of the last hour, so that a call whose answer was lost is not done twice.
CREATE TABLE {schema}.memory_changes(
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    id uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY(tenant, id)
);
CREATE INDEX memory_changes_at ON {schema}.memory_changes(tenant, at);

CREATE TABLE {schema}.memory_rules(
    tenant text PRIMARY KEY DEFAULT {schema}.tenant(),
    number bigint NOT NULL                     -- of the rules by which the lists were made
);

CREATE TABLE {schema}.memory_models(
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    no integer NOT NULL,
    name bytea NOT NULL,
    dimension integer NOT NULL,
    vectors bigint NOT NULL DEFAULT 0,
    digest bigint NOT NULL DEFAULT 0,          -- the marks of all, by exclusive or
    PRIMARY KEY(tenant, no)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX memory_models_name ON {schema}.memory_models(tenant, sha256(name));

CREATE TABLE {schema}.memory_vectors(
    tenant text NOT NULL DEFAULT {schema}.tenant(),
    no integer NOT NULL,                       -- of the model
    key bigint NOT NULL,                       -- of the memory
    place bigint GENERATED ALWAYS AS IDENTITY, -- in the order of their coming; another vector has another one
    mark bigint NOT NULL,                      -- 63 bits by chance
    checksum bigint NOT NULL,
    digest bytea NOT NULL,                     -- of the text that the vector was made from
    vector bytea NOT NULL,                     -- 32-bit floats, little-endian
    PRIMARY KEY(tenant, no, key)
);
ALTER TABLE {schema}.memory_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX memory_vectors_place ON {schema}.memory_vectors(tenant, no, place);

-- Makes the table of the same vectors in 16 bits a number, where the server has the extension pgvector, or may get it. It
-- waits for whoever writes facts: each who comes later sees the table (`NOTE`), and fills it.
CREATE FUNCTION {schema}.use_pgvector() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        CREATE EXTENSION IF NOT EXISTS vector;
    EXCEPTION WHEN OTHERS THEN
        RAISE NOTICE 'squidbot: vectors are compared by each process, not by the server: %', SQLERRM;
        RETURN;
    END;
    PERFORM set_config('search_path', quote_ident(n.nspname), true)
        FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';
    LOCK TABLE {schema}.memory_changes IN EXCLUSIVE MODE;
    CREATE TABLE {schema}.memory_nearest(
        tenant text NOT NULL DEFAULT {schema}.tenant(),
        key bigint NOT NULL,
        space bigint NOT NULL,                 -- a digest of the name and the dimension of the model
        place bigint NOT NULL,
        owner bigint NOT NULL,
        bot bigint NOT NULL,
        agent bigint NOT NULL,
        model bigint NOT NULL,
        holds boolean NOT NULL,
        vector halfvec NOT NULL,
        PRIMARY KEY(tenant, key, space)
    ) WITH (toast_tuple_target = 8160);        -- in the row, as long as it fits its page
    CREATE INDEX memory_nearest_of_owner ON {schema}.memory_nearest(tenant, space, owner, holds);
    CREATE INDEX memory_nearest_of_bot ON {schema}.memory_nearest(tenant, space, bot, holds);
    CREATE INDEX memory_nearest_of_agent ON {schema}.memory_nearest(tenant, space, agent, holds);
    CREATE INDEX memory_nearest_of_model ON {schema}.memory_nearest(tenant, space, model, holds);
END $$;
SELECT {schema}.use_pgvector();

-- Makes the index of a model's vectors, with the rights of whom the tables belong to. Vectors are added to it as they
-- come: made while there are few, it keeps nobody waiting.
CREATE FUNCTION {schema}.index_vectors(of_space bigint, of_size integer) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home text;
BEGIN
    SELECT quote_ident(n.nspname) INTO home
        FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS memory_nearest_%s ON {schema}.memory_nearest '
        'USING hnsw ((vector::%s.halfvec(%s)) %s.halfvec_cosine_ops) WHERE space = %s',
        to_hex(of_space), home, of_size, home, of_space
    );
END $$;
