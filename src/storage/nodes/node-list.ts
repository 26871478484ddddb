/** The list of nodes as the operator sees it, and the removal of a node that will not return. */

import { Problem } from '../../foundation/domain/problem.ts'
import { differences } from './compare-settings.ts'
import type { ListedNode, Nodes } from '../store/nodes.ts'
import type { Author, Registry } from '../store/registry.ts'

export interface ShownNode {
  readonly name: string
  readonly version: string
  /** Position of the change feed that the node serves. */
  readonly position: number
  /** Number of positions from there to the end of the feed. */
  readonly lag: number
  readonly silentSeconds: number
  readonly isLive: boolean
  readonly registeredAt: string
  /** This node answers. */
  readonly isSelf: boolean
  /** Names of the settings in which the node differs from most nodes. */
  readonly differs: readonly string[]
  /** By how much its clock is ahead of that of PostgreSQL, at least; negative: behind. */
  readonly clockOffsetSeconds: number
}

export interface NodeList {
  /** Returns all nodes, in the order of their names. Throws `StoreUnwritable`. */
  list(): Promise<readonly ShownNode[]>
  /**
   * Removes the silent nodes of this name, with an audit entry. Throws `Problem('not_found')`, `Problem('state_conflict')` if the node
   * is live, and `StoreUnwritable`.
   */
  remove(author: Author, name: string): Promise<void>
}

export interface NodeListOptions {
  readonly nodes: Pick<Nodes, 'list' | 'remove'>
  readonly registry: Pick<Registry, 'end' | 'audit'>
  /** That of this node. */
  readonly incarnation: string
}

export function createNodeList({ nodes, registry, incarnation }: NodeListOptions): NodeList {
  return {
    async list() {
      // The end is read first, so that no node seems late because it is ahead of an older answer.
      const end = await registry.end()
      const listed = await nodes.list()
      const differs = differences(listed)
      return listed.map((node) => ({ ...show(node, end, incarnation), differs: differs(node) }))
    },
    async remove(author, name) {
      // Compared here, so that a name which no node can have does not reach the store.
      const named = (await nodes.list()).filter((node) => node.name === name)
      if (named.length === 0) throw noNode(name)
      if (named.every(({ isLive }) => isLive)) throw liveNode(name)
      await registry.audit(author, 'node.remove', { kind: 'node', id: name, tenant: author.tenant })
      const removal = await nodes.remove(name)
      if (removal === 'absent') throw noNode(name)
      if (removal === 'live') throw liveNode(name)
    },
  }
}

function show(node: ListedNode, end: number, incarnation: string): Omit<ShownNode, 'differs'> {
  const { name, version, position, silentMs, isLive, registeredAtMs } = node
  return {
    name,
    version,
    position,
    lag: Math.max(0, end - position),
    silentSeconds: Math.floor(silentMs / 1_000),
    isLive,
    registeredAt: new Date(registeredAtMs).toISOString(),
    isSelf: node.incarnation === incarnation,
    clockOffsetSeconds: node.clockOffsetMs / 1_000,
  }
}

function noNode(name: string): Problem {
  return new Problem('not_found', `There is no node ${name.slice(0, 64)}.`)
}

function liveNode(name: string): Problem {
  return new Problem('state_conflict', `The node ${name} is live. Stop it; it then leaves the list by itself.`, {
    extensions: { state: 'live', allowed: [] },
  })
}
