/**
 * Work that all nodes prepare before a change is committed.
 *
 * A node asks the others, and each of them answers whether it has prepared what the request describes. Requests are dropped after a
 * minute.
 */

/** Returns null once the work is prepared, or why it cannot be. Must not reject. */
export type Prepare = (body: string) => Promise<string | null>

export interface Refusal {
  /** Name of the node. */
  readonly node: string
  readonly reason: string
}

export interface Preparations {
  /**
   * Asks all other live nodes that serve. Resolves when each of them has answered, or with the first that refuses. A node is not waited
   * for once it has been silent for `LIVE_MS`, nor is any node for longer than that. Throws `StoreUnwritable`.
   */
  ask(incarnation: string, body: string): Promise<readonly Refusal[]>
  /** Answers the requests of other nodes, each of them once. Afterwards, with the function that it returns, without preparing anything. */
  answer(incarnation: string, prepare: Prepare): () => void
}
