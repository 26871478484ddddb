/**
 * The nodes that share a registry, and the position of the change feed that each of them serves.
 *
 * A node registers first and reads the registry afterwards, so that every later command waits for it. It leaves the list when it stops
 * cleanly or is removed, never silently. A node is live if it was heard from recently, by the clock of the store.
 */

export interface NodeIdentity {
  /** Random; another one for a process that may have a copy of the data folder of one that goes on. */
  readonly incarnation: string
  /** The same for all copies of a data folder, of which one process may run. Default: the incarnation. */
  readonly lineage?: string
  readonly name: string
  /** Version of tollgate. */
  readonly version: string
  /** Newest format of shared data that the node reads. */
  readonly format: number
  /** Keyed hashes of the settings that all nodes should have alike, by name; empty for what is no node, and for earlier versions. */
  readonly settings: Readonly<Record<string, string>>
}

export interface ListedNode extends NodeIdentity {
  readonly registeredAtMs: number
  /** Position that the node serves; 0 until it has read the registry. */
  readonly position: number
  /** Time since the node was heard from, by the clock of the store. */
  readonly silentMs: number
  readonly isLive: boolean
  /** The node refuses calls once it has been without the registry for this long; null: it never does. */
  readonly staleAfterMs: number | null
  /** By how much the clock of the node is ahead of that of the store, at least; negative: behind. */
  readonly clockOffsetMs: number
  /** A later process has a copy of its data folder, or the folder itself: this one ends once it reports. */
  readonly isReplaced: boolean
}

/** How far this node has come, as of its last report. */
export interface NodeProgress {
  /** Positions of the change feed that this node does not serve yet. */
  readonly lag: number
  /** Other nodes in the list that are not live. */
  readonly silentNodes: number
  /** By how much the clock of this node is ahead of that of the store, at least; negative: behind. */
  readonly clockOffsetMs: number
}

/** `live`: the node was heard from recently, so that it would return at once. */
export type Removal = 'removed' | 'live' | 'absent'

/**
 * Newest format of shared data that this version reads; it reads all earlier ones, too. A change to the meaning of data that another
 * node reads (the feed, documents, signals, the schema) raises it. The new form is written once `Nodes.format` has reached the number.
 */
export const FORMAT = 1

/** A node that is silent for this long is not live. */
export const LIVE_MS = 5_000

/** Takes the place of the names of nodes that could not be read. No node has this name. */
export const UNKNOWN_NODES = '*'

export interface Nodes {
  /**
   * Adds this node to the list. Throws `StartRefused` if another live process has the same lineage, because its data folder was copied,
   * or the same name.
   */
  register(node: NodeIdentity): Promise<void>
  /** Reports the position that this node serves from now on. */
  serve(position: number): void
  /** Returns all nodes, in the order of their names. Throws `StoreUnwritable`. */
  list(): Promise<readonly ListedNode[]>
  /**
   * Resolves when every live node serves the position, with the names of the nodes that do not. A node is not waited for once it has
   * been silent for `silentAfterMs`, nor is any node for longer than that; for a node that refuses calls without the registry, its
   * `staleAfterMs` counts if it is longer, so that it serves nothing older afterwards, and one that was replaced is not named. If the list cannot be read for all that time,
   * the names end with `UNKNOWN_NODES`. Never rejects.
   */
  acknowledged(position: number, silentAfterMs?: number): Promise<readonly string[]>
  /**
   * Returns how long ago this node was up to date: the time since it sent the last report that found nothing it did not serve by now.
   * Infinite before the first one.
   */
  staleMs(): number
  /** Without a question to any node. */
  progress(): NodeProgress
  /** Returns the format in which this node writes what others read: no later one than every node in the list reads. It only rises. */
  format(): number
  /** Removes the nodes of this name that are silent, and refuse calls if they ever do. Throws `StoreUnwritable`. */
  remove(name: string): Promise<Removal>
  /**
   * Removes this node from the list, and stops reporting. `onLeaving` runs before, unless it is certain that the node stays in the list
   * because the store cannot be reached. Never rejects.
   */
  leave(onLeaving?: () => void): Promise<void>
}

/** Returns the list of a node that shares its registry with no other. */
export function createSingleNode(clock: { nowMs(): number }): Nodes {
  let own: ListedNode | null = null
  return {
    async register(node) {
      const progress = {
        position: 0,
        silentMs: 0,
        isLive: true,
        staleAfterMs: null,
        clockOffsetMs: 0,
        isReplaced: false,
      }
      own = { ...node, registeredAtMs: clock.nowMs(), ...progress }
    },
    serve(position) {
      if (own !== null) own = { ...own, position }
    },
    list: async () => (own === null ? [] : [own]),
    acknowledged: async () => [],
    staleMs: () => 0,
    progress: () => ({ lag: 0, silentNodes: 0, clockOffsetMs: 0 }),
    format: () => own?.format ?? FORMAT,
    remove: async (name) => (own?.name === name ? 'live' : 'absent'),
    async leave(onLeaving) {
      if (own !== null) onLeaving?.()
      own = null
    },
  }
}
