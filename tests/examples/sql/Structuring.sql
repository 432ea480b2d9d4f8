WITH below AS (SELECT * FROM Deposit WHERE amount >= 7000 AND amount <= 9999.99)
SELECT DISTINCT a.acc AS acc
FROM below a, below b, below c
WHERE a.acc = b.acc AND b.acc = c.acc AND a.ts < b.ts AND b.ts < c.ts AND c.ts - a.ts <= INTERVAL 3 DAY
  AND a.amount + b.amount + c.amount > 25000
  AND a.branch NOT IN (b.branch, c.branch) AND b.branch <> c.branch
