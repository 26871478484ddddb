/**
 * Compares the settings of nodes by their hashes: at the start of a node, and in the list.
 *
 * A start is refused if a live node has another master key, tenant of the operator, or address: tokens, links and secrets of one node
 * would be worthless at the other. Other differences are allowed, because a change of settings rolls from node to node.
 */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { LIVE_MS, type ListedNode, type Nodes } from '../store/nodes.ts'

export type SettingHashes = ListedNode['settings']

export interface CompareOptions {
  readonly nodes: Pick<Nodes, 'list'>
  /** That of this node, which may be in the list from an earlier process. */
  readonly incarnation: string
  readonly settings: SettingHashes
  /** The addresses of live nodes may differ, because a change of them rolls. */
  readonly mayDiffer: boolean
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Log, 'warn'>
  readonly count: CountEvent
}

const MASTER_KEY = 'MASTER_KEY'
const ADDRESSES = ['GATEWAY_URL', 'BASE_URL', 'RISK_URL']
const RETRY_MS = 250
/** A node that has just been killed seems to live for this long. */
const REFUSED_AFTER_MS = LIVE_MS + 1_000

/** Throws `StartRefused` if a live node has other settings that must be alike. Logs the others that differ. */
export async function compareAtStart(options: CompareOptions): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    const others = (await options.nodes.list()).filter(isLiveOther(options))
    const refusal = refusalOf(options, others)
    if (refusal === null) return warnOf(options, others)
    if (waitedMs >= REFUSED_AFTER_MS) throw new StartRefused(refusal)
    await new Promise<void>((resolve) => options.clock.after(RETRY_MS, resolve))
  }
}

function isLiveOther({ incarnation }: CompareOptions): (node: ListedNode) => boolean {
  return (node) => node.isLive && node.incarnation !== incarnation
}

function refusalOf({ settings, mayDiffer }: CompareOptions, others: readonly ListedNode[]): string | null {
  const refused = new Set([MASTER_KEY, 'ADMIN_TENANT', ...(mayDiffer ? [] : ADDRESSES)])
  for (const { name, settings: theirs } of others) {
    const names = namesThatDiffer(settings, theirs).filter((each) => refused.has(each))
    // With another key all hashes differ.
    if (names.includes(MASTER_KEY)) return `MASTER_KEY is not that of the live node ${name}; set the same on all nodes`
    if (names.length === 0) continue
    const roll = names.some((each) => ADDRESSES.includes(each)) ? ' (a change can roll: ADDRESSES_MAY_DIFFER)' : ''
    return `the live node ${name} has another ${names.join(' and ')}; set the same on all nodes${roll}`
  }
  return null
}

function warnOf({ settings, log, count }: CompareOptions, others: readonly ListedNode[]): void {
  const names = new Set(others.flatMap((node) => namesThatDiffer(settings, node.settings)))
  if (names.size === 0) return
  count('node_settings_differ')
  const nodes = others.filter((node) => namesThatDiffer(settings, node.settings).length > 0).map(({ name }) => name)
  log.warn({ settings: [...names], nodes }, 'live nodes have other settings than this node; set the same on all nodes')
}

/** Settings that only one of the two knows are not compared: its version is another. */
function namesThatDiffer(own: SettingHashes, theirs: SettingHashes): readonly string[] {
  return Object.keys(own).filter((name) => theirs[name] !== undefined && theirs[name] !== own[name])
}

/**
 * Returns for each node the settings in which it differs from most nodes, or if there are as many with another value, from that of the
 * node that is longest in the list. Every node gives the same answer.
 */
export function differences(listed: readonly ListedNode[]): (node: ListedNode) => readonly string[] {
  const byAge = listed.toSorted((one, other) => one.registeredAtMs - other.registeredAtMs)
  const usual = new Map<string, string>()
  for (const name of new Set(byAge.flatMap(({ settings }) => Object.keys(settings)))) {
    const counts = new Map<string, number>()
    for (const { settings } of byAge) {
      const hash = settings[name]
      if (hash !== undefined) counts.set(hash, (counts.get(hash) ?? 0) + 1)
    }
    const most = Math.max(...counts.values())
    for (const [hash, count] of counts) if (count === most && !usual.has(name)) usual.set(name, hash)
  }
  return ({ settings }) => Object.keys(settings).filter((name) => settings[name] !== usual.get(name))
}
