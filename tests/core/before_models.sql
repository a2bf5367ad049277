-- Four sessions, as the code stored them that recorded no models of messages: alone, mixed, bots, plain.
PRAGMA application_id = 1397834836;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE messages(
    key INTEGER PRIMARY KEY,    -- sessions.no << 32 | seq
    bound INTEGER NOT NULL,     -- tokens, as estimate
    estimate INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    time REAL,                  -- seconds since 1970
    form TEXT NOT NULL,         -- JSON: role, category, codec, counter
    call_ids TEXT,              -- JSON; NULL for none
    result_ids TEXT,
    frozen TEXT,                -- JSON: sent_text, sent_arguments, notice, sent_cost; NULL: sent as it was said
    payload TEXT NOT NULL
);
INSERT INTO "messages" VALUES(4294967296,13,9,0,2909098982,1000.0,'["user","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "user", "content": "The boat is red."}');
INSERT INTO "messages" VALUES(4294967297,12,8,0,2777947858,1001.0,'["assistant","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "assistant", "content": "Noted: red."}');
INSERT INTO "messages" VALUES(4294967298,12,8,2,3440730748,1002.0,'["user","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "user", "content": "And the mast?"}');
INSERT INTO "messages" VALUES(4294967299,9,5,2,1892455177,1003.0,'["assistant","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "assistant", "content": "Blue."}');
INSERT INTO "messages" VALUES(8589934592,21,14,0,704616575,1000.0,'["user","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "user", "content": "To qwen: the key is 4711."}');
INSERT INTO "messages" VALUES(8589934593,9,6,0,3856819403,1001.0,'["assistant","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "assistant", "content": "Kept."}');
INSERT INTO "messages" VALUES(8589934594,13,9,2,1292539508,1002.0,'["user","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "user", "content": "To llama: hello."}');
INSERT INTO "messages" VALUES(8589934595,7,5,2,2226459832,1003.0,'["assistant","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "assistant", "content": "Hi."}');
INSERT INTO "messages" VALUES(12884901888,12,7,0,310758057,1000.0,'["user","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "user", "content": "For squid."}');
INSERT INTO "messages" VALUES(12884901889,8,5,0,663041157,1001.0,'["assistant","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "assistant", "content": "Yes."}');
INSERT INTO "messages" VALUES(17179869184,12,7,0,3870480294,1000.0,'["user","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "user", "content": "For nobody."}');
INSERT INTO "messages" VALUES(17179869185,8,5,0,3163299141,1001.0,'["assistant","dialog","openai.chat","classes"]',NULL,NULL,NULL,'{"role": "assistant", "content": "Yes."}');
CREATE TABLE records(
    session INTEGER NOT NULL,
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY(session, kind, number)
) WITHOUT ROWID;
INSERT INTO "records" VALUES(1,'lease',0,2867815335,'{"lease_id":"lease-65945ee4d829","window_tokens":32768,"reserved_output_tokens":4096,"safety_fraction":0.85,"counter":"classes","model":"qwen2.5:7b","source":"default","parameters_billion":null,"detail":"","learned_for":""}');
INSERT INTO "records" VALUES(1,'request',0,1610779407,'{"cost":[9,13],"outside":[0,0],"parts":1,"seal":"37fcfcec7ecc5357","messages":1,"lease":"lease-65945ee4d829","limit":[27852,28672]}');
INSERT INTO "records" VALUES(1,'request',1,3027261985,'{"cost":[25,37],"outside":[0,0],"parts":3,"seal":"6188ecf20cb1ba32","messages":3,"lease":"lease-65945ee4d829","limit":[27852,28672]}');
INSERT INTO "records" VALUES(2,'lease',0,2888306509,'{"lease_id":"lease-65945ee4d829","window_tokens":32768,"reserved_output_tokens":4096,"safety_fraction":0.85,"counter":"classes","model":"qwen2.5:7b","source":"default","parameters_billion":null,"detail":"","learned_for":""}');
INSERT INTO "records" VALUES(2,'lease',1,3809316705,'{"lease_id":"lease-27f74e780ead","window_tokens":32768,"reserved_output_tokens":4096,"safety_fraction":0.85,"counter":"classes","model":"llama3.1:8b","source":"default","parameters_billion":null,"detail":"","learned_for":""}');
INSERT INTO "records" VALUES(2,'request',0,2752889342,'{"cost":[14,21],"outside":[0,0],"parts":1,"seal":"37fcfcec7ecc5357","messages":1,"lease":"lease-65945ee4d829","limit":[27852,28672]}');
INSERT INTO "records" VALUES(2,'request',1,2682920392,'{"cost":[29,43],"outside":[0,0],"parts":3,"seal":"6188ecf20cb1ba32","messages":3,"lease":"lease-27f74e780ead","limit":[27852,28672]}');
INSERT INTO "records" VALUES(3,'lease',0,801948712,'{"lease_id":"lease-964bcfaba372","window_tokens":32768,"reserved_output_tokens":4096,"safety_fraction":0.85,"counter":"classes","model":"","source":"default","parameters_billion":null,"detail":"","learned_for":""}');
INSERT INTO "records" VALUES(3,'request',0,3629231181,'{"cost":[7,12],"outside":[0,0],"parts":1,"seal":"37fcfcec7ecc5357","messages":1,"lease":"lease-964bcfaba372","limit":[27852,28672]}');
INSERT INTO "records" VALUES(3,'scope',0,4205210031,'[0,"","","squid","","","",""]');
INSERT INTO "records" VALUES(4,'lease',0,477108804,'{"lease_id":"lease-964bcfaba372","window_tokens":32768,"reserved_output_tokens":4096,"safety_fraction":0.85,"counter":"classes","model":"","source":"default","parameters_billion":null,"detail":"","learned_for":""}');
INSERT INTO "records" VALUES(4,'request',0,2327889809,'{"cost":[7,12],"outside":[0,0],"parts":1,"seal":"37fcfcec7ecc5357","messages":1,"lease":"lease-964bcfaba372","limit":[27852,28672]}');
CREATE TABLE sessions(
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,    -- BLOB where it holds lone surrogates, as all texts here
    hash INTEGER NOT NULL,      -- CRC-32 of the id: a second way to find it, when the index of the ids is damaged
    messages INTEGER NOT NULL,  -- how many there are: a missing row is noticed
    checksum INTEGER NOT NULL,  -- CRC-32, as in each table
    records TEXT NOT NULL       -- JSON: how many there are of each kind
);
INSERT INTO "sessions" VALUES(1,'alone',2527968952,4,2855325610,'{"lease":1,"request":2}');
INSERT INTO "sessions" VALUES(2,'mixed',3910795043,4,646927687,'{"lease":2,"request":2}');
INSERT INTO "sessions" VALUES(3,'bots',1908404477,2,3869930920,'{"lease":1,"scope":1,"request":1}');
INSERT INTO "sessions" VALUES(4,'plain',421552847,2,459468439,'{"lease":1,"request":1}');
CREATE TABLE summaries(
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    estimate INTEGER NOT NULL,
    bound INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    level TEXT NOT NULL,
    counter TEXT NOT NULL,
    source_digest TEXT NOT NULL,
    made_by TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE(session, id)
);
CREATE INDEX sessions_by_hash ON sessions(hash);
CREATE INDEX summaries_by_range ON summaries(session, first_seq, last_seq);
CREATE VIEW transcript AS SELECT sessions.id AS session, key & 4294967295 AS seq, turn,
    json_extract(form, '$[0]') AS role, datetime(time, 'unixepoch') AS time, bound, estimate,
    json_extract(form, '$[2]') AS codec, call_ids, result_ids, frozen, payload
FROM messages JOIN sessions ON sessions.no = messages.key >> 32;
COMMIT;
