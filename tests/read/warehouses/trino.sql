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
          (
            (
              CAST(TRANSLATE(
                SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || 'u' || u)))), 1, 8),
                'abcdef',
                '012345'
              ) AS BIGINT) + 1
            ) * (
              CAST(TRANSLATE(
                SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || 'i' || i)))), 1, 10),
                'abcdef',
                '012345'
              ) AS BIGINT) + 1
            )
          ) % 10000000019
        ), i
      ) AS n
    FROM (
      SELECT DISTINCT
        CAST("who" AS VARCHAR) AS u,
        CAST("what" AS VARCHAR) AS i
      FROM log
      WHERE
        NOT "who" IS NULL AND NOT "what" IS NULL
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
    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(CAST(c.i AS VARCHAR))))), 1, 4) AS b
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
              (
                (
                  CAST(TRANSLATE(
                    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || 'u' || u)))), 1, 8),
                    'abcdef',
                    '012345'
                  ) AS BIGINT) + 1
                ) * (
                  CAST(TRANSLATE(
                    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || 'i' || i)))), 1, 10),
                    'abcdef',
                    '012345'
                  ) AS BIGINT) + 1
                )
              ) % 10000000019
            ), i
          ) AS n
        FROM (
          SELECT DISTINCT
            CAST("who" AS VARCHAR) AS u,
            CAST("what" AS VARCHAR) AS i
          FROM log
          WHERE
            NOT "who" IS NULL AND NOT "what" IS NULL
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
    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(CAST(c.i AS VARCHAR))))), 1, 4) AS b
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
              (
                (
                  CAST(TRANSLATE(
                    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || 'u' || u)))), 1, 8),
                    'abcdef',
                    '012345'
                  ) AS BIGINT) + 1
                ) * (
                  CAST(TRANSLATE(
                    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || 'i' || i)))), 1, 10),
                    'abcdef',
                    '012345'
                  ) AS BIGINT) + 1
                )
              ) % 10000000019
            ), i
          ) AS n
        FROM (
          SELECT DISTINCT
            CAST("who" AS VARCHAR) AS u,
            CAST("what" AS VARCHAR) AS i
          FROM log
          WHERE
            NOT "who" IS NULL AND NOT "what" IS NULL
        ) AS p
      ) AS r
      WHERE
        n <= 5
    ) AS k
    GROUP BY
      i
  ) AS c
) AS f
JOIN (VALUES
  (3, '00ff')) AS w(n, b)
  ON f.n = w.n AND f.b = w.b;

SELECT
  n,
  COUNT(*) AS m
FROM (
  SELECT
    l.p AS k,
    COALESCE(c.n, 0) AS n,
    l.p - (
      l.p % 1024
    ) AS b
  FROM (
    SELECT
      i,
      p
    FROM (VALUES
      ('a', 0),
      ('o''brien', 1)) AS t(i, p)
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
              (
                (
                  CAST(TRANSLATE(
                    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || 'u' || u)))), 1, 8),
                    'abcdef',
                    '012345'
                  ) AS BIGINT) + 1
                ) * (
                  CAST(TRANSLATE(
                    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || 'i' || i)))), 1, 10),
                    'abcdef',
                    '012345'
                  ) AS BIGINT) + 1
                )
              ) % 10000000019
            ), i
          ) AS n
        FROM (
          SELECT DISTINCT
            CAST("who" AS VARCHAR) AS u,
            CAST("what" AS VARCHAR) AS i
          FROM log
          WHERE
            NOT "who" IS NULL
            AND NOT "what" IS NULL
            AND CAST("what" AS VARCHAR) IN (
              SELECT
                i
              FROM (VALUES
                ('a', 0),
                ('o''brien', 1)) AS t(i, p)
            )
        ) AS p
      ) AS r
      WHERE
        n <= 5
    ) AS k
    GROUP BY
      i
  ) AS c
    ON CAST(l.i AS VARCHAR) = c.i
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
    SUBSTR(LOWER(TO_HEX(MD5(TO_UTF8(CAST(c.i AS VARCHAR))))), 1, 4) AS b
  FROM (
    WITH winnow_held AS (
      SELECT
        CAST(LENGTH(u) AS VARCHAR) || ':' || u || b AS u,
        i
      FROM (
        SELECT
          u,
          b,
          i,
          DENSE_RANK() OVER (
            PARTITION BY u
            ORDER BY LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || '' || u || '' || b)))), b
          ) AS n
        FROM (
          SELECT DISTINCT
            CAST("what" AS VARCHAR) AS i,
            CAST("trip" AS VARCHAR) AS b,
            CAST("who" AS VARCHAR) AS u
          FROM log
          WHERE
            NOT "what" IS NULL AND NOT "trip" IS NULL AND NOT "who" IS NULL
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
        CAST(LENGTH(i0) AS VARCHAR) || ':' || i0 || CAST(LENGTH(i1) AS VARCHAR) || ':' || i1 AS i,
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
JOIN (VALUES
  (3, '00ff')) AS w(n, b)
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
          ORDER BY LOWER(TO_HEX(MD5(TO_UTF8(:winnow_salt || h || CAST(m AS VARCHAR)))))
        ) AS r
      FROM (
        SELECT
          c0,
          c1,
          u,
          h,
          ROW_NUMBER() OVER (PARTITION BY u, h ORDER BY c0, c1) AS m
        FROM (
          SELECT
            c0,
            c1,
            u,
            LOWER(
              TO_HEX(
                MD5(
                  TO_UTF8(
                    :winnow_salt || u || COALESCE('|=' || CAST(c0 AS VARCHAR), '|-') || COALESCE('|=' || CAST(c1 AS VARCHAR), '|-')
                  )
                )
              )
            ) AS h
          FROM (
            SELECT
              c0,
              CASE
                WHEN c1 IS NULL
                THEN -1
                WHEN c1 = CAST('NaN' AS DOUBLE) OR c1 <> c1
                THEN -1
                WHEN c1 < CAST('0' AS DOUBLE)
                THEN -1
                WHEN c1 > CAST('5' AS DOUBLE)
                THEN -1
                ELSE CASE WHEN c1 < CAST('2' AS DOUBLE) THEN 0 ELSE 1 END
              END AS c1,
              u
            FROM (
              SELECT
                CAST("what" AS VARCHAR) AS c0,
                CAST("gain" AS DOUBLE) AS c1,
                CAST("who" AS VARCHAR) AS u
              FROM log
              WHERE
                NOT "who" IS NULL
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
    CAST(CASE WHEN d > 20 THEN 20 ELSE d END AS VARCHAR) AS i
  FROM (
    SELECT
      COUNT(*) AS d
    FROM (
      SELECT DISTINCT
        CAST("who" AS VARCHAR) AS u,
        CAST("what" AS VARCHAR) AS i
      FROM log
      WHERE
        NOT "who" IS NULL
        AND NOT "what" IS NULL
        AND CAST("what" AS VARCHAR) IN (
          SELECT
            i
          FROM (VALUES
            ('a', 0)) AS t(i, p)
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
    CAST(CASE WHEN d > 20 THEN 20 ELSE d END AS VARCHAR) AS i
  FROM (
    SELECT
      COUNT(*) AS d
    FROM (
      SELECT
        CAST("who" AS VARCHAR) AS u
      FROM log
      WHERE
        NOT "who" IS NULL
    ) AS p
    GROUP BY
      u
  ) AS e
) AS k
GROUP BY
  i;

