SELECT a.ts AS _start, d.ts AS _end, d.card AS card, a.amount AS lowest, d.amount AS highest, d.merchant AS merchant
FROM Payment a
JOIN Payment b ON b.card = a.card AND b.ts > a.ts AND b.amount >= 1.5::DOUBLE * a.amount
JOIN Payment c ON c.card = a.card AND c.ts > b.ts AND c.amount >= 1.5::DOUBLE * b.amount
JOIN Payment d ON d.card = a.card AND d.ts > c.ts AND d.amount >= 1.5::DOUBLE * c.amount
WHERE d.amount > 200 AND d.ts <= a.ts + INTERVAL 10 MINUTE
