/**
 * A revision of an API as plain data: everything that a gateway thread needs to serve it. Created once, at activation, from the
 * OpenAPI document, which threads never read. Threads compile it (router, validators).
 */

import type { CorsPlan } from './cors.ts'
import type { HeaderField, TransformPlan } from './transform-plan.ts'

export type RoutePlan = RevisionPlan & DocumentPlan

/** The part of a plan that comes from the deployment. */
export interface RevisionPlan {
  /** The technical name, `<name>-v<major>`: the first segment of every path. */
  readonly api: string
  readonly tenant: string
  readonly revision: number
  /** `Withheld`: the process cannot compile the active revision, and refuses its calls. */
  readonly state: 'Active' | 'Deprecated' | 'Retired' | 'Withheld'
  /** Sent in every response; missing if the API is not deprecated. */
  readonly deprecation?: DeprecationPlan
  /** Null if the API is served elsewhere (the platform's own), so that the gateway only issues its tokens. */
  readonly backend: BackendPlan | null
  readonly allowedScopes: readonly string[]
  readonly memberOfProductIds: readonly string[]
  /** Set if the policy of the API exposes all operations over MCP. */
  readonly isMcpOn?: true
  /** `cors` in the policy of the API, which overrides that of the document; missing if the policy has none. */
  readonly policyCors?: CorsPlan
  /** Changes of requests and responses; missing if there are none. */
  readonly transform?: TransformPlan
}

/** The part of a plan that comes from the document. */
export interface DocumentPlan {
  readonly dialect: '3.0' | '3.1'
  /** The target of every `$ref` in the schemas below: `#/components/...` of the document. */
  readonly components: Readonly<Record<string, unknown>>
  /** The declared responses of all operations, without duplicates. */
  readonly responses: readonly ResponsePlan[]
  /** Components that the schemas of responses refer to. */
  readonly responseComponents: Readonly<Record<string, unknown>>
  readonly operations: readonly OperationPlan[]
  /** `x-tollgate-min-read-bytes-per-second` of the document. */
  readonly readBytesPerSecondMin?: number
  /** `x-tollgate-mcp` of the document; missing if the document does not have it. */
  readonly mcp?: McpPlan
  /** `x-tollgate-cors` of the document. */
  readonly cors?: CorsPlan
}

export interface McpPlan {
  /** Whether operations without a flag of their own are exposed. */
  readonly isOn: boolean
  /** If it is missing, the number of operations that a caller may call decides. */
  readonly mode?: 'tools' | 'search'
}

export interface DeprecationPlan {
  readonly sinceMs: number
  readonly retirementMs: number
  /** Technical name of the successor; null if none is declared. */
  readonly successor: string | null
}

export interface BackendPlan {
  /** Scheme, host and port. */
  readonly origin: string
  /** Prefix of every path at the backend, without a trailing slash; may be `''`. */
  readonly basePath: string
  readonly timeoutMs: number
  /** Health path at the origin; if it is missing, calls determine the health. */
  readonly health?: string
  /** Connections of all gateway threads together; if it is missing, each thread has its default. */
  readonly connections?: number
  /** Longest wait of a call for a connection. */
  readonly waitMs?: number
  /** If false, connections go to public addresses only, and never to those of this service. */
  readonly mayBePrivate: boolean
  /** The targets of a backend that was given as such; the fields above are those of the first one. */
  readonly targets?: readonly TargetPlan[]
  /** How the calls are shared among the targets; if it is missing, by weighted round robin. */
  readonly balance?: 'roundRobin' | 'leastBusy'
  /** The client certificate and the trusted authorities of connections; if it is missing, none and the public ones. */
  readonly tls?: BackendTls
  /** Headers of every request to the backend, with secret values. */
  readonly secretHeaders?: readonly HeaderField[]
}

/** One address of a backend. */
export interface TargetPlan {
  readonly origin: string
  readonly basePath: string
  /** Share of the calls in relation to the other targets; 1 if it is missing. */
  readonly weight?: number
}

/** The key and the values of `secretHeaders` are ciphertexts everywhere but on the way to the gateway threads. */
export interface BackendTls {
  /** The client certificate and those of its issuers, in PEM. */
  readonly certificate?: string
  /** Private key of the client certificate, in PEM. */
  readonly key?: string
  /** Authorities that replace the public ones, in PEM. */
  readonly ca?: string
}

export interface OperationPlan {
  readonly operationId: string
  /** Upper case. */
  readonly method: string
  /** The path template of the document, `/payments/{paymentId}`. */
  readonly path: string
  /** Alternatives of which one suffices; empty if the operation is public. */
  readonly security: readonly SecurityAlternative[]
  readonly parameters: readonly ParameterPlan[]
  readonly body: BodyPlan | null
  /** `x-tollgate-pass-headers`: names of override headers, in lower case, that the backend receives. */
  readonly passHeaders?: readonly string[]
  /** `x-tollgate-client-certificate: required`: calls come over the client certificate that their credentials are bound to. */
  readonly requiresCertificate?: true
  /** Declared responses, as positions in the plan's `responses`; empty if none are declared. */
  readonly responses: readonly number[]
  /** `summary` of the document, shortened. */
  readonly summary?: string
  /** `description` of the document, shortened; only in documents with `x-tollgate-mcp`. */
  readonly description?: string
  /** `x-tollgate-mcp` of the operation: whether it is exposed over MCP. */
  readonly mcp?: boolean
  /** `x-tollgate-units`, if the units of a call are known only after its response. */
  readonly units?: UnitsPlan
  /** `x-tollgate-websocket`: the operation is a WebSocket. */
  readonly webSocket?: WebSocketPlan
}

export interface WebSocketPlan {
  /** Bytes of a message in either direction. */
  readonly messageBytesMax: number
}

/** How the units of a call are counted after its response. All numbers in millionths. */
export type UnitsPlan = EventUnits | ResponseUnits | TrafficUnits

interface LateUnits {
  /** Units of one event, message or kilobyte, or one unit. */
  readonly unitsMicro: number
  /** Charged when the call is forwarded; if it is missing, the units that the declaration states for the operation. */
  readonly reserveMicro?: number
}

export interface EventUnits extends LateUnits {
  readonly per: 'event'
}

/** Units of a WebSocket, in both directions. */
export interface TrafficUnits extends LateUnits {
  readonly per: 'message' | 'kilobyte'
}

export interface ResponseUnits extends LateUnits {
  readonly per: 'response'
  /** Header or trailer of the backend that states the units, in lower case. */
  readonly header: string
  /** Higher values are ignored. */
  readonly maxMicro: number
}

export interface ResponsePlan {
  /** `200`, `2XX` or `default`. */
  readonly status: string
  /** Media type or range, lower case, without parameters → JSON schema (`null` accepts anything); null if none is declared. */
  readonly content: Readonly<Record<string, unknown>> | null
}

export interface SecurityAlternative {
  /** Scopes that a token must have; null if this alternative accepts no token. */
  readonly tokenScopes: readonly string[] | null
  readonly apiKey: boolean
  /** Scopes that the subscription of a key must have. */
  readonly keyScopes: readonly string[]
}

export interface ParameterPlan {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required: boolean
  /** OpenAPI `style`, with its default applied. */
  readonly style: string
  readonly explode: boolean
  /** JSON schema; null accepts anything. */
  readonly schema: unknown
  /** Whether the value is JSON text: the document declares `content` of a JSON type. */
  readonly isJson?: boolean
  /** `description` of the document, shortened; only in documents with `x-tollgate-mcp`. */
  readonly description?: string
  /** RFC 6901 pointer of the parameter in the document. */
  readonly pointer: string
}

export interface BodyPlan {
  readonly required: boolean
  /** Default 1 MiB; `x-tollgate-max-body-bytes` of the operation changes it. */
  readonly bytesMax: number
  /**
   * Media type or range, lower case, without parameters → JSON schema. `null` accepts and streams
   * anything. `true` accepts any JSON that parses, and streams other types.
   */
  readonly content: Readonly<Record<string, unknown>>
}
