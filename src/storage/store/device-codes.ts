/**
 * Device codes in a store: sign-ins that a device without a browser has begun, bounded in number.
 *
 * A device asks for the decision every few seconds, so that a code without requests is most likely abandoned. In a full store a new
 * code replaces one of the network that has the most codes: the one whose last request is oldest. So a stranger who begins many
 * sign-ins replaces their own. Times are those of the store's clock. Texts are sealed, and codes and networks are keyed hashes.
 */

export interface NewDeviceCode {
  readonly id: string
  readonly userCodeHash: string
  readonly secretHash: string
  /** The network of the device. */
  readonly networkHash: string
  /** The access that the device requests. */
  readonly request: string
}

export interface StoredDeviceCode extends Pick<NewDeviceCode, 'id' | 'secretHash' | 'request'> {
  /** Null: the person has not decided yet. */
  readonly decision: string | null
  /** It is stored somewhat longer, so that the device gets to know. */
  readonly isExpired: boolean
}

export interface DeviceCodeStore {
  /** Returns false if the user code is in use. Throws `StoreUnwritable`, like all of these. */
  add(code: NewDeviceCode): Promise<boolean>
  find(id: string): Promise<StoredDeviceCode | null>
  /** Returns the code that waits for a decision, and notes the request; null if there is none. */
  enter(userCodeHash: string): Promise<Pick<StoredDeviceCode, 'id' | 'request'> | null>
  /** Returns false if the code has expired or was decided before. */
  decide(id: string, decision: string): Promise<boolean>
  /** Notes that the device asks for the decision. Returns false if it asks too often. */
  poll(id: string): Promise<boolean>
  /** Removes the code; returns false if it was removed before. */
  take(id: string): Promise<boolean>
}

/** Codes of all nodes together. */
export const CODES_MAX = 10_000
export const LIFETIME_MS = 10 * 60_000
/** How long the device gets `expired_token` before the code is unknown. */
export const REMEMBERED_MS = 5 * 60_000
export const INTERVAL_MS = 5_000
/** Added after each poll that comes too early (RFC 8628, 3.5). */
export const SLOW_DOWN_MS = 5_000
/** Requests that come faster than this are not noted, so that a device cannot write without a limit. */
export const NOTED_EVERY_MS = 1_000
