// @module-tag redis-server

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openLeases, type Leases, type LeasesOptions } from '../../../src/app/open-leases.ts'
import type { Shared } from '../../../src/app/open-shared.ts'
import { grant } from '../../../src/boundary/leases/grantor.ts'
import { createGrantorState } from '../../../src/boundary/leases/grantor-state.ts'
import { SLICE_TIMINGS } from '../../../src/boundary/leases/lease-timings.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { createRedisServer, type RedisServer } from '../../fixtures/redis-server.ts'

let folder: string
let redis: RedisServer

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-leases-'))
  redis = await createRedisServer()
})

afterEach(async () => {
  await redis.remove()
  rmSync(folder, { recursive: true })
})

/** Grants slices as PostgreSQL does, by the pure grantor; `send` of slices fails while `isDown` is set. */
function sharedWith(postgres: { isDown: boolean }, end: Shared['end'] = () => {}): Shared {
  const state = createGrantorState()
  let epoch = 0
  const open = (above: number) => {
    epoch = Math.max(epoch, above) + 1
    return Promise.resolve({ epoch, isFirst: epoch === 1, members: [] })
  }
  let sliceEpoch = 0
  const part = {
    incarnation: 'incarnation',
    isJoined: () => true,
    end,
    copy: { notes: {}, note: () => {} },
    leaseEpochs: {
      register: async () => {},
      open,
      handOver: async () => away(postgres),
      handedOver: async () => [],
      namesOf: async () => [],
    },
    leases: {
      isOpen: false,
      openEpoch: () => Promise.resolve({ epoch: ++sliceEpoch, isFirst: sliceEpoch === 1, members: [] }),
      async send(message: Parameters<typeof grant>[1]) {
        away(postgres)
        return grant(state, message, { nowMs: Date.now(), runId: 'run' }, SLICE_TIMINGS)
      },
    },
  }
  return part as unknown as Shared
}

function away({ isDown }: { readonly isDown: boolean }): void {
  if (isDown) throw new Error('PostgreSQL is away')
}

interface Opened {
  readonly leases: Leases | null
  readonly faults: string[]
  /** Also done at the end of the test. */
  close(): Promise<void>
}

async function open(
  shared: Shared | null,
  redisUrl: string | null,
  options: Partial<LeasesOptions> = {},
): Promise<Opened> {
  const closers: (() => unknown)[] = []
  const faults: string[] = []
  const close = async (): Promise<void> => {
    for (const closeOne of closers.splice(0).reverse()) await closeOne()
  }
  onTestFinished(close)
  const leases = await openLeases({
    config: { redisUrl, nodeName: 'a', dataDir: folder },
    shared,
    clock: systemClock,
    log: { error: (_: unknown, text: string) => void faults.push(text) } as unknown as LeasesOptions['log'],
    count: () => {},
    opened: (_, closeOne) => void closers.push(closeOne),
    ...options,
  })
  return { leases, faults, close }
}

const POLL = { timeout: 20_000, interval: 20 }

describe('The leases of a node', () => {
  it('do not exist for a single node', async () => {
    expect((await open(null, redis.url)).leases).toBeNull()
    expect((await open(sharedWith({ isDown: false }), null)).leases).toBeNull()
  })

  it('can be had when the start continues', async () => {
    const { leases } = await open(sharedWith({ isDown: false }), redis.url)
    await expect.poll(() => leases?.isUnavailable, POLL).toBe(false)
  })

  it('refuse the start with one line if Redis would lose them', async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru')
    await expect(open(sharedWith({ isDown: false }), redis.url)).rejects.toThrow(
      /^REDIS_URL cannot be used: .*noeviction/,
    )
  })

  it('delay the start for a few seconds only if Redis is away, and can be had when it is back', async () => {
    await redis.stop()
    const { leases, faults } = await open(sharedWith({ isDown: false }), redis.url)
    expect(leases?.isUnavailable).toBe(true)
    expect(faults).toContain('leases of limits cannot be had from Redis at the moment; retrying')
    await redis.start('empty')
    await expect.poll(() => leases?.isUnavailable, POLL).toBe(false)
  })

  it('end the process if a later one has used them, and the next one takes new ones', async () => {
    const ended: string[] = []
    const postgres = { isDown: false }
    const shared = sharedWith(postgres, (sentence) => void ended.push(sentence))
    const [path, copy] = [join(folder, 'leases.journal'), join(folder, 'copy')]
    // A node that starts while no other runs begins a new generation.
    const other = join(folder, 'other')
    mkdirSync(other)
    await open(shared, redis.url, { config: { redisUrl: redis.url, nodeName: 'b', dataDir: other } })
    for (const keep of [() => copyFileSync(path, copy), () => {}, () => copyFileSync(copy, path)]) {
      const { leases, close } = await open(shared, redis.url)
      await expect.poll(() => leases?.isUnavailable, POLL).toBe(false)
      // What it held cannot be handed over, so that it keeps its journal.
      postgres.isDown = true
      await close()
      postgres.isDown = false
      keep()
    }
    expect(ended).toEqual([])
    const outdated = await open(shared, redis.url)
    await expect.poll(() => ended.length, POLL).toBeGreaterThan(0)
    expect(ended[0]).toMatch(/^leases\.journal is an older copy/)
    expect(existsSync(path)).toBe(false)
    await outdated.close()
    ended.splice(0)
    const { leases } = await open(shared, redis.url)
    await expect.poll(() => leases?.isUnavailable, POLL).toBe(false)
    expect(ended).toEqual([])
  })

  it('cannot be had while slices cannot', async () => {
    const postgres = { isDown: false }
    const { leases } = await open(sharedWith(postgres), redis.url)
    await expect.poll(() => leases?.isUnavailable, POLL).toBe(false)
    postgres.isDown = true
    await expect.poll(() => leases?.isUnavailable, POLL).toBe(true)
  })
})
