import { describe, expect, it } from 'vitest'
import { FORMAT } from '../../../../../src/storage/store/nodes.ts'
import { BREAKING_STEPS, STEPS } from '../../../../../src/storage/store/postgres/schema-steps.ts'

/** Nodes of earlier versions exist from this step on. */
const FIRST = 8
const TAKES_AWAY = /\bDROP\b|\bRENAME\b|\bALTER COLUMN\b|\bADD CONSTRAINT\b|\bCREATE UNIQUE INDEX\b|\bCREATE TRIGGER\b/
const NEEDS_A_VALUE = /\bADD COLUMN\b(?=[^,;]*\bNOT NULL\b)(?![^,;]*\bDEFAULT\b)/

const refuses = (sql: string): boolean => TAKES_AWAY.test(sql) || NEEDS_A_VALUE.test(sql)

describe('a step of the schema', () => {
  it('only adds, so that nodes of earlier versions work with it, unless it is listed as breaking', () => {
    const unlisted = STEPS.flatMap((sql, index) => (index + 1 >= FIRST && refuses(sql) ? [index + 1] : []))
    expect(unlisted.filter((step) => !BREAKING_STEPS.has(step))).toEqual([])
  })

  it.each([
    'ALTER TABLE node DROP COLUMN name',
    'ALTER TABLE node RENAME TO nodes',
    'ALTER TABLE node ALTER COLUMN format TYPE int',
    'ALTER TABLE node ADD COLUMN zone text NOT NULL',
    'CREATE UNIQUE INDEX node_by_name ON node (name)',
  ])('is found to take something away: %s', (sql) => expect(refuses(sql)).toBe(true))

  it.each(['ALTER TABLE node ADD COLUMN zone text', `ALTER TABLE node ADD COLUMN zone text NOT NULL DEFAULT ''`])(
    'is found to add: %s',
    (sql) => expect(refuses(sql)).toBe(false),
  )

  it('that is listed as breaking exists, and needs a format that this version reads', () => {
    for (const [step, format] of BREAKING_STEPS) {
      expect(step).toBeLessThanOrEqual(STEPS.length)
      expect(format).toBeLessThanOrEqual(FORMAT)
    }
  })
})
