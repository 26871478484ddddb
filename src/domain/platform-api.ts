/** The API of the platform as a catalogue entry: it has operations like any other API, and no proxy. */

/** Technical name. */
export const PLATFORM_API = 'platform-v1'

/** One operation, as a subscriber reads it. */
export interface PlatformOperation {
  readonly operationId: string
  readonly method: string
  /** Path template as in OpenAPI, `/v1/proxies/{id}`. */
  readonly path: string
  /** Empty: public. */
  readonly scopes: readonly string[]
}
