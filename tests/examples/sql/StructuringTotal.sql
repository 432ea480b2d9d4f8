SELECT DISTINCT e.acc AS acc
FROM Deposit e, LATERAL (
    SELECT sum(d.amount) AS total, count(DISTINCT d.branch) AS branches
    FROM Deposit d
    WHERE d.acc = e.acc AND d.amount < 10000 AND d.ts <= e.ts AND d.ts >= e.ts - INTERVAL 3 DAYS
) d
WHERE e.amount < 10000 AND d.total > 25000 AND d.branches >= 3
