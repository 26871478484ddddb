/**
 * A revision of an API as plain data: all that a gateway thread needs to serve it, ready to be
 * posted to a worker and compiled there (router, validators). Made once at activation from the
 * OpenAPI document; threads never see the document itself.
 */

export interface RoutePlan {
  /** The technical name, `<name>-v<major>`: first segment of every path. */
  readonly api: string
  readonly tenant: string
  readonly revision: number
  readonly state: 'Active' | 'Deprecated' | 'Retired'
  /** Sent in every response; missing if the API is not deprecated. */
  readonly deprecation?: DeprecationPlan
  /** `null`: the API is served elsewhere (the platform's own); the gateway only mints its tokens. */
  readonly backend: BackendPlan | null
  readonly allowedScopes: readonly string[]
  readonly memberOfProductIds: readonly string[]
  readonly dialect: '3.0' | '3.1'
  /** The target of every `$ref` in the schemas below: `#/components/...` of the document. */
  readonly components: Readonly<Record<string, unknown>>
  /** The answers that operations declare, each once. */
  readonly responses: readonly ResponsePlan[]
  /** Components that the schemas of responses refer to. */
  readonly responseComponents: Readonly<Record<string, unknown>>
  readonly operations: readonly OperationPlan[]
  /** `x-tollgate-min-read-bytes-per-second` of the document. */
  readonly readBytesPerSecondMin?: number
}

export interface DeprecationPlan {
  readonly sinceMs: number
  readonly retirementMs: number
  /** Technical name of what comes after; null: nothing is said. */
  readonly successor: string | null
}

export interface BackendPlan {
  /** Scheme, host and port. */
  readonly origin: string
  /** Prefix of every path at the backend, without a trailing slash; may be `''`. */
  readonly basePath: string
  readonly timeoutMs: number
  /** A path at the origin that says whether the backend is well; missing: calls say it. */
  readonly health?: string
  /** Connections of all gateway threads together; missing: the default of each thread. */
  readonly connections?: number
  /** How long a call waits for a connection. */
  readonly waitMs?: number
  /** False: connections are made to public addresses only, and never to this service's own. */
  readonly mayBePrivate: boolean
}

export interface OperationPlan {
  readonly operationId: string
  /** Upper case. */
  readonly method: string
  /** The path template of the document, `/payments/{paymentId}`. */
  readonly path: string
  /** Alternatives, any of which opens the operation; empty: the operation is public. */
  readonly security: readonly SecurityAlternative[]
  readonly parameters: readonly ParameterPlan[]
  readonly body: BodyPlan | null
  /** `x-tollgate-pass-headers`: names of override headers, in lower case, that the backend receives. */
  readonly passHeaders?: readonly string[]
  /** Declared responses, as positions in the plan's `responses`; empty if none are declared. */
  readonly responses: readonly number[]
}

export interface ResponsePlan {
  /** `200`, `2XX` or `default`. */
  readonly status: string
  /** Media type or range, lower case, without parameters → JSON schema (`null`: anything); null: nothing is said. */
  readonly content: Readonly<Record<string, unknown>> | null
}

export interface SecurityAlternative {
  /** Scopes a token must hold; `null`: this alternative takes no token. */
  readonly tokenScopes: readonly string[] | null
  readonly apiKey: boolean
  /** Scopes the subscription of a key must hold. */
  readonly keyScopes: readonly string[]
}

export interface ParameterPlan {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required: boolean
  /** OpenAPI `style`, its default filled in. */
  readonly style: string
  readonly explode: boolean
  /** JSON schema; `null`: anything goes. */
  readonly schema: unknown
  /** RFC 6901 pointer of the parameter in the document. */
  readonly pointer: string
}

export interface BodyPlan {
  readonly required: boolean
  /** Default 1 MiB; `x-tollgate-max-body-bytes` of the operation changes it. */
  readonly bytesMax: number
  /**
   * Media type or range, lower case, without parameters → JSON schema. `null`: anything, streamed; `true`:
   * any value, which must parse if it is sent as JSON, while other types are streamed.
   */
  readonly content: Readonly<Record<string, unknown>>
}
