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
              CAST(TRANSLATE(SUBSTRING(MD5(:winnow_salt || 'u' || u), 1, 8), 'abcdef', '012345') AS BIGINT) + 1
            ) * (
              CAST(TRANSLATE(SUBSTRING(MD5(:winnow_salt || 'i' || i), 1, 10), 'abcdef', '012345') AS BIGINT) + 1
            )
          ) % 10000000019
        ), i
      ) AS n
    FROM (
      SELECT DISTINCT
        COLLATE(CAST("who" AS VARCHAR), 'utf8') AS u,
        COLLATE(CAST("what" AS VARCHAR), 'utf8') AS i
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
    SUBSTRING(MD5(c.i), 1, 4) AS b
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
                  CAST(TRANSLATE(SUBSTRING(MD5(:winnow_salt || 'u' || u), 1, 8), 'abcdef', '012345') AS BIGINT) + 1
                ) * (
                  CAST(TRANSLATE(SUBSTRING(MD5(:winnow_salt || 'i' || i), 1, 10), 'abcdef', '012345') AS BIGINT) + 1
                )
              ) % 10000000019
            ), i
          ) AS n
        FROM (
          SELECT DISTINCT
            COLLATE(CAST("who" AS VARCHAR), 'utf8') AS u,
            COLLATE(CAST("what" AS VARCHAR), 'utf8') AS i
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
    SUBSTRING(MD5(c.i), 1, 4) AS b
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
                  CAST(TRANSLATE(SUBSTRING(MD5(:winnow_salt || 'u' || u), 1, 8), 'abcdef', '012345') AS BIGINT) + 1
                ) * (
                  CAST(TRANSLATE(SUBSTRING(MD5(:winnow_salt || 'i' || i), 1, 10), 'abcdef', '012345') AS BIGINT) + 1
                )
              ) % 10000000019
            ), i
          ) AS n
        FROM (
          SELECT DISTINCT
            COLLATE(CAST("who" AS VARCHAR), 'utf8') AS u,
            COLLATE(CAST("what" AS VARCHAR), 'utf8') AS i
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
  ON f.n = w.n AND (
    w.b = '' OR w.b = f.b
  );

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
      ('o\'brien', 1)) AS t(i, p)
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
                  CAST(TRANSLATE(SUBSTRING(MD5(:winnow_salt || 'u' || u), 1, 8), 'abcdef', '012345') AS BIGINT) + 1
                ) * (
                  CAST(TRANSLATE(SUBSTRING(MD5(:winnow_salt || 'i' || i), 1, 10), 'abcdef', '012345') AS BIGINT) + 1
                )
              ) % 10000000019
            ), i
          ) AS n
        FROM (
          SELECT DISTINCT
            COLLATE(CAST("who" AS VARCHAR), 'utf8') AS u,
            COLLATE(CAST("what" AS VARCHAR), 'utf8') AS i
          FROM log
          WHERE
            NOT "who" IS NULL
            AND NOT "what" IS NULL
            AND COLLATE(CAST("what" AS VARCHAR), 'utf8') IN (
              SELECT
                i
              FROM (VALUES
                ('a', 0),
                ('o\'brien', 1)) AS t(i, p)
            )
        ) AS p
      ) AS r
      WHERE
        n <= 5
    ) AS k
    GROUP BY
      i
  ) AS c
    ON COLLATE(CAST(l.i AS VARCHAR), 'utf8') = c.i
) AS f
GROUP BY
  n;

