/** Counts of a WebSocket, in both directions. */
export interface TrafficCounts {
  /** Messages of text or data that have begun. */
  messages: number
  /** Bytes of their payloads. */
  bytes: number
}
