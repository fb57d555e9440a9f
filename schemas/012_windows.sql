-- SPDX-License-Identifier: MIT
--
-- Version 12: a window of attention is causal, and written so ('h8/2,w4,causal'). Of one query token it always was; what
-- was measured of several tokens with a window that did not end at their own is no problem of any op, and goes.

UPDATE OR IGNORE problem
SET words = CASE WHEN words LIKE '%,ragged' THEN substr(words, 1, length(words) - 7) || ',causal,ragged'
	ELSE words || ',causal' END
WHERE m = 1 AND words GLOB '*,w[0-9]*' AND words NOT GLOB '*,causal*';

CREATE TEMP TABLE gone_12 AS SELECT s.id FROM sweep s JOIN problem p ON p.id = s.problem_id
WHERE p.words GLOB '*,w[0-9]*' AND p.words NOT GLOB '*,causal*';
DELETE FROM tie_set WHERE best_id IN (SELECT id FROM best WHERE sweep_id IN (SELECT id FROM gone_12));
DELETE FROM best WHERE sweep_id IN (SELECT id FROM gone_12);
DELETE FROM counter WHERE trial_id IN (SELECT id FROM trial WHERE sweep_id IN (SELECT id FROM gone_12));
DELETE FROM measurement WHERE trial_id IN (SELECT id FROM trial WHERE sweep_id IN (SELECT id FROM gone_12));
DELETE FROM trial WHERE sweep_id IN (SELECT id FROM gone_12);
DELETE FROM sweep_known WHERE sweep_id IN (SELECT id FROM gone_12);
DELETE FROM sweep WHERE id IN (SELECT id FROM gone_12);
DROP TABLE temp.gone_12;
DELETE FROM problem WHERE words GLOB '*,w[0-9]*' AND words NOT GLOB '*,causal*';

PRAGMA user_version = 12;
