SELECT
  i,
  COUNT(*) AS n
FROM (
  SELECT
    i
  FROM (
    SELECT
      i,
      ROW_NUMBER() OVER (
        PARTITION BY u
        ORDER BY (
          MOD(
            (
              CAST(TRANSLATE(SUBSTRING(TO_HEX(MD5(@winnow_salt || 'u' || u)), 1, 8), 'abcdef', '012345') AS INT64) + 1
            ) * (
              CAST(TRANSLATE(SUBSTRING(TO_HEX(MD5(@winnow_salt || 'i' || i)), 1, 10), 'abcdef', '012345') AS INT64) + 1
            ),
            10000000019
          )
        ) NULLS LAST, i NULLS LAST
      ) AS n
    FROM (
      SELECT DISTINCT
        COLLATE(CAST(`who` AS STRING), '') AS u,
        COLLATE(CAST(`what` AS STRING), '') AS i
      FROM log
      WHERE
        NOT `who` IS NULL AND NOT `what` IS NULL
    ) AS p
  ) AS r
  WHERE
    n <= 5
) AS k
GROUP BY
  i;

SELECT
  n,
  COUNT(*) AS m
FROM (
  SELECT
    c.i AS k,
    c.n,
    SUBSTRING(TO_HEX(MD5(CAST(c.i AS STRING))), 1, 4) AS b
  FROM (
    SELECT
      i,
      COUNT(*) AS n
    FROM (
      SELECT
        i
      FROM (
        SELECT
          i,
          ROW_NUMBER() OVER (
            PARTITION BY u
            ORDER BY (
              MOD(
                (
                  CAST(TRANSLATE(SUBSTRING(TO_HEX(MD5(@winnow_salt || 'u' || u)), 1, 8), 'abcdef', '012345') AS INT64) + 1
                ) * (
                  CAST(TRANSLATE(SUBSTRING(TO_HEX(MD5(@winnow_salt || 'i' || i)), 1, 10), 'abcdef', '012345') AS INT64) + 1
                ),
                10000000019
              )
            ) NULLS LAST, i NULLS LAST
          ) AS n
        FROM (
          SELECT DISTINCT
            COLLATE(CAST(`who` AS STRING), '') AS u,
            COLLATE(CAST(`what` AS STRING), '') AS i
          FROM log
          WHERE
            NOT `who` IS NULL AND NOT `what` IS NULL
        ) AS p
      ) AS r
      WHERE
        n <= 5
    ) AS k
    GROUP BY
      i
  ) AS c
) AS f
GROUP BY
  n;

SELECT
  f.n,
  f.b,
  f.k
FROM (
  SELECT
    c.i AS k,
    c.n,
    SUBSTRING(TO_HEX(MD5(CAST(c.i AS STRING))), 1, 4) AS b
  FROM (
    SELECT
      i,
      COUNT(*) AS n
    FROM (
      SELECT
        i
      FROM (
        SELECT
          i,
          ROW_NUMBER() OVER (
            PARTITION BY u
            ORDER BY (
              MOD(
                (
                  CAST(TRANSLATE(SUBSTRING(TO_HEX(MD5(@winnow_salt || 'u' || u)), 1, 8), 'abcdef', '012345') AS INT64) + 1
                ) * (
                  CAST(TRANSLATE(SUBSTRING(TO_HEX(MD5(@winnow_salt || 'i' || i)), 1, 10), 'abcdef', '012345') AS INT64) + 1
                ),
                10000000019
              )
            ) NULLS LAST, i NULLS LAST
          ) AS n
        FROM (
          SELECT DISTINCT
            COLLATE(CAST(`who` AS STRING), '') AS u,
            COLLATE(CAST(`what` AS STRING), '') AS i
          FROM log
          WHERE
            NOT `who` IS NULL AND NOT `what` IS NULL
        ) AS p
      ) AS r
      WHERE
        n <= 5
    ) AS k
    GROUP BY
      i
  ) AS c
) AS f
JOIN UNNEST([STRUCT(3 AS n, '00ff' AS b)]) AS w
  ON f.n = w.n AND f.b = w.b;

SELECT
  n,
  COUNT(*) AS m
FROM (
  SELECT
    l.p AS k,
    COALESCE(c.n, 0) AS n,
    l.p - (
      MOD(l.p, 1024)
    ) AS b
  FROM (
    SELECT
      i,
      p
    FROM UNNEST([STRUCT('a' AS i, 0 AS p), STRUCT('o\'brien' AS i, 1 AS p)]) AS t
  ) AS l
  LEFT JOIN (
    SELECT
      i,
      COUNT(*) AS n
    FROM (
      SELECT
        i
      FROM (
        SELECT
          i,
          ROW_NUMBER() OVER (
            PARTITION BY u
            ORDER BY (
              MOD(
                (
                  CAST(TRANSLATE(SUBSTRING(TO_HEX(MD5(@winnow_salt || 'u' || u)), 1, 8), 'abcdef', '012345') AS INT64) + 1
                ) * (
                  CAST(TRANSLATE(SUBSTRING(TO_HEX(MD5(@winnow_salt || 'i' || i)), 1, 10), 'abcdef', '012345') AS INT64) + 1
                ),
                10000000019
              )
            ) NULLS LAST, i NULLS LAST
          ) AS n
        FROM (
          SELECT DISTINCT
            COLLATE(CAST(`who` AS STRING), '') AS u,
            COLLATE(CAST(`what` AS STRING), '') AS i
          FROM log
          WHERE
            NOT `who` IS NULL
            AND NOT `what` IS NULL
            AND COLLATE(CAST(`what` AS STRING), '') IN (
              SELECT
                i
              FROM UNNEST([STRUCT('a' AS i, 0 AS p), STRUCT('o\'brien' AS i, 1 AS p)]) AS t
            )
        ) AS p
      ) AS r
      WHERE
        n <= 5
    ) AS k
    GROUP BY
      i
  ) AS c
    ON COLLATE(CAST(l.i AS STRING), '') = c.i
) AS f
GROUP BY
  n;

SELECT
  f.k,
  f.n
FROM (
  SELECT
    c.i AS k,
    c.n,
    SUBSTRING(TO_HEX(MD5(CAST(c.i AS STRING))), 1, 4) AS b
  FROM (
    WITH winnow_held AS (
      SELECT
        CAST(LENGTH(u) AS STRING) || ':' || u || b AS u,
        i
      FROM (
        SELECT
          u,
          b,
          i,
          DENSE_RANK() OVER (
            PARTITION BY u
            ORDER BY TO_HEX(MD5(@winnow_salt || '' || u || '\x1f' || b)) NULLS LAST, b NULLS LAST
          ) AS n
        FROM (
          SELECT DISTINCT
            COLLATE(CAST(`what` AS STRING), '') AS i,
            COLLATE(CAST(`trip` AS STRING), '') AS b,
            COLLATE(CAST(`who` AS STRING), '') AS u
          FROM log
          WHERE
            NOT `what` IS NULL AND NOT `trip` IS NULL AND NOT `who` IS NULL
        ) AS p
      ) AS s
      WHERE
        n <= 2
    )
    SELECT
      i,
      n
    FROM (
      SELECT
        '' AS i,
        COUNT(*) AS n
      FROM (
        SELECT DISTINCT
          u
        FROM winnow_held
      ) AS d
      UNION ALL
      SELECT
        CAST(LENGTH(i0) AS STRING) || ':' || i0 || CAST(LENGTH(i1) AS STRING) || ':' || i1 AS i,
        n
      FROM (
        SELECT
          h0.i AS i0,
          h1.i AS i1,
          COUNT(*) AS n
        FROM winnow_held AS h0
        JOIN winnow_held AS h1
          ON h0.u = h1.u AND h0.i < h1.i
        GROUP BY
          h0.i,
          h1.i
      ) AS g
    ) AS a
  ) AS c
) AS f
JOIN UNNEST([STRUCT(3 AS n, '00ff' AS b)]) AS w
  ON f.k = w.b;

SELECT
  c0 AS c0,
  c1 AS c1,
  GROUPING(c0) AS g0,
  GROUPING(c1) AS g1,
  COUNT(*) AS n
FROM (
  SELECT
    CASE
      WHEN c0 IS NULL
      THEN NULL
      WHEN c0 IN ('item 0', 'item 1', 'item 9')
      THEN c0
      ELSE 'item 0-'
    END AS c0,
    c1 AS c1
  FROM (
    SELECT
      c0,
      c1
    FROM (
      SELECT
        c0,
        c1,
        ROW_NUMBER() OVER (
          PARTITION BY u
          ORDER BY TO_HEX(MD5(@winnow_salt || h || CAST(m AS STRING))) NULLS LAST
        ) AS r
      FROM (
        SELECT
          c0,
          c1,
          u,
          h,
          ROW_NUMBER() OVER (PARTITION BY u, h ORDER BY c0 NULLS LAST, c1 NULLS LAST) AS m
        FROM (
          SELECT
            c0,
            c1,
            u,
            TO_HEX(
              MD5(
                @winnow_salt || u || COALESCE('|=' || CAST(c0 AS STRING), '|-') || COALESCE('|=' || CAST(c1 AS STRING), '|-')
              )
            ) AS h
          FROM (
            SELECT
              c0,
              CASE
                WHEN c1 IS NULL
                THEN -1
                WHEN c1 = CAST('NaN' AS FLOAT64) OR c1 <> c1
                THEN -1
                WHEN c1 < CAST('0' AS FLOAT64)
                THEN -1
                WHEN c1 > CAST('5' AS FLOAT64)
                THEN -1
                ELSE CASE WHEN c1 < CAST('2' AS FLOAT64) THEN 0 ELSE 1 END
              END AS c1,
              u
            FROM (
              SELECT
                COLLATE(CAST(`what` AS STRING), '') AS c0,
                CAST(`gain` AS FLOAT64) AS c1,
                COLLATE(CAST(`who` AS STRING), '') AS u
              FROM log
              WHERE
                NOT `who` IS NULL
            ) AS v
          ) AS a
        ) AS e
      ) AS f
    ) AS b
    WHERE
      r <= 2
  ) AS k
) AS d
GROUP BY
  GROUPING SETS (
    (c0),
    (c0, c1)
  );

SELECT
  i,
  COUNT(*) AS n
FROM (
  SELECT
    CAST(CASE WHEN d > 20 THEN 20 ELSE d END AS STRING) AS i
  FROM (
    SELECT
      COUNT(*) AS d
    FROM (
      SELECT DISTINCT
        COLLATE(CAST(`who` AS STRING), '') AS u,
        COLLATE(CAST(`what` AS STRING), '') AS i
      FROM log
      WHERE
        NOT `who` IS NULL
        AND NOT `what` IS NULL
        AND COLLATE(CAST(`what` AS STRING), '') IN (
          SELECT
            i
          FROM UNNEST([STRUCT('a' AS i, 0 AS p)]) AS t
        )
    ) AS p
    GROUP BY
      u
  ) AS e
) AS k
GROUP BY
  i;

SELECT
  i,
  COUNT(*) AS n
FROM (
  SELECT
    CAST(CASE WHEN d > 20 THEN 20 ELSE d END AS STRING) AS i
  FROM (
    SELECT
      COUNT(*) AS d
    FROM (
      SELECT
        COLLATE(CAST(`who` AS STRING), '') AS u
      FROM log
      WHERE
        NOT `who` IS NULL
    ) AS p
    GROUP BY
      u
  ) AS e
) AS k
GROUP BY
  i;

