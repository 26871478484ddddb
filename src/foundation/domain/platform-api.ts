/** The API of the platform as a catalogue entry: it has operations like any other API, and no proxy. */

/** Technical name. */
export const PLATFORM_API = 'platform-v1'

/** One operation, as subscribers see it. */
export interface PlatformOperation {
  readonly operationId: string
  readonly method: string
  /** Path template as in OpenAPI, `/v1/proxies/{id}`. */
  readonly path: string
  /** Scopes of which a caller needs one, the widest first; empty if the operation is public. */
  readonly alternatives: readonly string[]
}
