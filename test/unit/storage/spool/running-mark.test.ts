import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Damage } from '../../../../src/storage/spool/damage.ts'
import { setRunningMark, type RunningMarkOptions } from '../../../../src/storage/spool/running-mark.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'mark-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const STARTED_MS = 1_700_000_000_000

/** Starts the service, which is then killed. Returns the reports. */
function start(options: Partial<RunningMarkOptions>): readonly Damage[] {
  const damage: Damage[] = []
  const onDamage = (each: Damage): unknown => damage.push(each)
  setRunningMark({ dataDir, sync: 'second', nowMs: STARTED_MS, boot: 'a', onDamage, ...options })
  return damage
}

function stopCleanly(options: Partial<RunningMarkOptions> = {}): void {
  setRunningMark({ dataDir, sync: 'second', nowMs: STARTED_MS, boot: 'a', onDamage: () => {}, ...options })()
}

/** Creates a segment whose last change was at `changedMs`. */
function writeSegment(changedMs: number): void {
  const folder = join(dataDir, 'spool', 'gateway-0')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, '1700000000.spool'), 'batches')
  utimesSync(join(folder, '1700000000.spool'), changedMs / 1000, changedMs / 1000)
}

describe('the mark of a running service', () => {
  it('reports nothing on the first start, after a clean stop, or after a kill in the same boot', () => {
    expect(start({})).toEqual([])
    expect(start({})).toEqual([])
    stopCleanly()
    expect(existsSync(join(dataDir, 'running'))).toBe(false)
    expect(start({ boot: 'b' })).toEqual([])
  })

  it('reports an unknown number of missing records after a restart of the machine', () => {
    start({})
    writeSegment(STARTED_MS + 60_000)
    expect(start({ boot: 'b', nowMs: STARTED_MS + 90_000 })).toEqual([
      {
        file: 'spool',
        what: expect.stringContaining('SPOOL_SYNC=second'),
        records: 0,
        isExact: false,
        fromMs: STARTED_MS + 58_000,
        toMs: STARTED_MS + 90_000,
      },
    ])
  })

  it('reports the whole run as the time range of the loss if nothing was ever synced', () => {
    start({ sync: 'never' })
    writeSegment(STARTED_MS + 60_000)
    const [damage] = start({ boot: 'b', nowMs: STARTED_MS + 90_000 })
    expect(damage?.fromMs).toBe(STARTED_MS)
  })

  it('reports nothing if every record was synced before it was answered', () => {
    start({ sync: 'always' })
    expect(start({ sync: 'always', boot: 'b' })).toEqual([])
  })

  it('remains if a killed process may not have synced its records', () => {
    start({ sync: 'never' })
    start({ sync: 'always', nowMs: STARTED_MS + 1_000 })
    const [damage] = start({ boot: 'b', nowMs: STARTED_MS + 90_000 })
    expect(damage?.what).toContain('SPOOL_SYNC=never')
    expect(damage?.fromMs).toBe(STARTED_MS)
  })

  it('reports a power cut once', () => {
    start({})
    expect(start({ boot: 'b' })).toHaveLength(1)
    expect(start({ boot: 'b' })).toEqual([])
  })

  it.each(['', '{', 'null', '{"version":1}', '{"version":1,"boot":"a","sinceMs":1,"sync":"often"}'])(
    'reports that a power cut is possible if its content is %j',
    (text) => {
      writeFileSync(join(dataDir, 'running'), text)
      expect(start({})).toMatchObject([{ file: 'running', records: 0, isExact: false }])
      expect(start({})).toEqual([])
    },
  )
})
