/**
 * Faults of nodes, servers and connections. Each one lasts until a number of calls have ended, or for half a minute, then everything is
 * whole again.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from '../../fixtures/clickhouse-server.ts'
import type { FaultyProxy, Verdict } from '../../fixtures/faulty-proxy.ts'
import type { Random } from '../../random.ts'
import type { ChaosCluster, ChaosNode } from './chaos-cluster.ts'
import type { ChaosLoad } from './chaos-load.ts'

export interface FaultParts {
  readonly cluster: ChaosCluster
  readonly load: Pick<ChaosLoad, 'after'>
  readonly random: Random
}

interface Setting extends FaultParts {
  readonly node: ChaosNode
  /** Lets the fault last. */
  readonly last: () => Promise<void>
}

const CALLS_MAX = 750
/** Calls are slow while a server does not answer. */
const LASTS_MS_MAX = 30_000
const FAILED_INSERTS = 6
const SLOW_MS = 1_000
const CLOCK_OFFSET_MS_MAX = 2_000
/** Before the insert is executed (`reset`), or after it (`lost`), among others. */
const INSERT_FAULTS: readonly Fault['kind'][] = ['lost', 'reset', 'unavailable', 'read-only', 'slow', 'lost']

const VERDICTS: readonly Verdict[] = [
  'pass',
  'pass',
  'pass',
  'pass',
  'cut',
  'cut-after',
  { cutAfterBytes: 9 },
  'half-close',
  { delayMs: 200 },
  'drop',
  'hold',
]

/** What was held arrives late, or never. */
async function makeBad(proxy: FaultyProxy, random: Random, last: () => Promise<void>): Promise<void> {
  proxy.judge(() => VERDICTS[random.below(VERDICTS.length)]!)
  await last()
  proxy.judge(null)
  proxy.cut()
}

const FAULTS: Readonly<Record<string, (setting: Setting) => Promise<void>>> = {
  'a node is killed': ({ node, last }) => node.restart((service) => service.kill(), last),
  'a node stops': ({ node, last }) => node.restart((service) => service.stop(), last),
  'two nodes are killed': async ({ cluster, last }) => {
    await Promise.all(cluster.nodes.slice(1).map((node) => node.restart((service) => service.kill(), last)))
  },
  'a node stands still': async ({ node, last }) => {
    const pid = node.service.pid()
    process.kill(pid, 'SIGSTOP')
    await last()
    process.kill(pid, 'SIGCONT')
  },
  'the clock of a node jumps, and back': async ({ node, random, last }) => {
    node.moveClock(random.below(2 * CLOCK_OFFSET_MS_MAX + 1) - CLOCK_OFFSET_MS_MAX)
    await last()
    node.moveClock(0)
  },
  'Redis is restarted empty': async ({ cluster: { redis }, last }) => {
    await redis.stop()
    await last()
    await redis.start('empty')
  },
  'Redis is restarted from a snapshot': async ({ cluster: { redis }, last }) => {
    await redis.command('SAVE')
    await last()
    await redis.stop()
    await redis.start('snapshot')
  },
  'a node leaves, and Redis is restarted empty': ({ cluster: { redis }, node, last }) =>
    node.restart(
      (service) => service.stop(),
      async () => {
        await redis.stop()
        await redis.start('empty')
        await last()
      },
    ),
  'a node is killed and removed, and Redis is restarted empty': ({ cluster: { redis, nodes }, node, last }) =>
    node.restart(
      (service) => service.kill(),
      async () => {
        const other = nodes.find((each) => each !== node && each.isUp)
        await last()
        await other?.service.platform.delete(`/v1/nodes/${node.name}`).catch(() => {})
        await redis.stop()
        await redis.start('empty')
        await last()
      },
    ),
  'Redis loses its data': async ({ cluster: { redis } }) => {
    await redis.command('FLUSHALL')
  },
  'Redis does not answer': async ({ cluster: { redis }, last }) => {
    redis.suspend()
    await last()
    redis.resume()
  },
  'a node is cut off from Redis': async ({ node: { redisProxy }, last }) => {
    redisProxy.refuse(true)
    redisProxy.cut()
    await last()
    redisProxy.refuse(false)
  },
  'the connection of a node to Redis is bad': ({ node, random, last }) => makeBad(node.redisProxy, random, last),
  'a node is cut off from PostgreSQL': async ({ node: { postgresProxy }, last }) => {
    postgresProxy.refuse(true)
    postgresProxy.cut()
    await last()
    postgresProxy.refuse(false)
  },
  'the connection of a node to PostgreSQL is bad': ({ node, random, last }) =>
    makeBad(node.postgresProxy, random, last),
  'PostgreSQL does not answer': async ({ cluster: { nodes }, last }) => {
    for (const { postgresProxy } of nodes) postgresProxy.judge(() => 'hold')
    await last()
    for (const { postgresProxy } of nodes) postgresProxy.judge(null)
  },
  'PostgreSQL is killed': async ({ cluster: { postgres }, last }) => {
    await postgres.stop()
    await last()
    await postgres.start()
  },
  'ClickHouse fails inserts': async ({ cluster: { clickHouse }, random, last }) => {
    for (let count = 0; count < FAILED_INSERTS; count++) {
      const kind = INSERT_FAULTS[random.below(INSERT_FAULTS.length)]!
      await clickHouse.fault({ kind, statement: 'INSERT INTO line_items ', ms: SLOW_MS } as Fault)
    }
    await last()
  },
  'ClickHouse fails inserts, and a node is killed': async ({ cluster: { clickHouse }, node, last }) => {
    for (const kind of INSERT_FAULTS)
      await clickHouse.fault({ kind, statement: 'INSERT INTO line_items ', ms: SLOW_MS } as Fault)
    await node.restart((service) => service.kill(), last)
  },
  'PostgreSQL and Redis are killed': async ({ cluster: { postgres, redis }, last }) => {
    await Promise.all([postgres.stop(), redis.stop()])
    await last()
    await Promise.all([postgres.start(), redis.start('empty')])
  },
}

/** Those that concern commands. */
export const FAULTS_OF_COMMANDS = [
  'a node is killed',
  'two nodes are killed',
  'the clock of a node jumps, and back',
  'a node is cut off from PostgreSQL',
  'the connection of a node to PostgreSQL is bad',
  'PostgreSQL does not answer',
  'PostgreSQL is killed',
]

/** Returns the names of the faults that contain `part`. */
export const faultsWith = (part: string): readonly string[] => Object.keys(FAULTS).filter((name) => name.includes(part))

/** Runs a random one of the faults, and returns its name. */
export async function runFault({ cluster, load, random }: FaultParts, names: readonly string[]): Promise<string> {
  const name = names[random.below(names.length)]!
  const node = cluster.nodes[random.below(cluster.nodes.length)]!
  const last = (): Promise<void> =>
    Promise.race([load.after(25 + random.below(CALLS_MAX)), delay(LASTS_MS_MAX, undefined, { ref: false })])
  await FAULTS[name]!({ cluster, load, random, node, last })
  return name
}
