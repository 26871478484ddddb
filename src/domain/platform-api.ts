/** The platform's own API, as a catalogue entry: it has operations like any other, and no proxy. */

/** Its technical name. */
export const PLATFORM_API = 'platform-v1'

/** One of its operations, as a subscriber reads it. */
export interface PlatformOperation {
  readonly operationId: string
  readonly method: string
  /** OpenAPI's form, `/v1/proxies/{id}`. */
  readonly path: string
  /** Empty: public. */
  readonly scopes: readonly string[]
}
