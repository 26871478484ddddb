/**
 * Problems that a caller can receive, by stable code.
 *
 * The code is the contract: clients branch on it, dashboards count it, tests name it. `detail` is public; `cause` is private
 * and goes to the log.
 */

interface Kind {
  readonly status: number
  readonly title: string
}

export const PROBLEMS = {
  path_not_canonical: { status: 400, title: 'The path is not in canonical form' },
  not_found: { status: 404, title: 'No resource at this path' },
  method_not_allowed: { status: 405, title: 'The path does not support this method' },
  api_retired: { status: 410, title: 'The API version is retired' },
  credential_missing: { status: 401, title: 'A credential is required' },
  credential_invalid: { status: 401, title: 'The credential could not be verified' },
  operation_forbidden: { status: 403, title: 'The credential does not permit this operation' },
  subscription_required: { status: 403, title: 'An active subscription is required' },
  rate_limited: { status: 429, title: 'A limit is reached' },
  limits_unavailable: { status: 503, title: 'The limits cannot be counted at the moment' },
  quota_exhausted: { status: 402, title: 'The quota of resource units is exhausted' },
  payload_invalid: { status: 400, title: 'The request does not match the specification' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  request_timeout: { status: 408, title: 'The request body did not arrive in time' },
  upgrade_required: { status: 426, title: 'The operation is a WebSocket' },
  loop_detected: { status: 508, title: 'The call has passed this gateway before' },
  media_type_unsupported: { status: 415, title: 'The media type is not in the specification' },
  upstream_refused: { status: 502, title: 'The backend refused the connection' },
  upstream_broken: { status: 502, title: 'The backend closed the connection before its response was complete' },
  upstream_timeout: { status: 504, title: 'The backend did not respond in time' },
  upstream_unhealthy: { status: 503, title: 'The backend is unavailable' },
  revision_unavailable: { status: 503, title: 'A node cannot compile the revision' },
  registry_stale: { status: 503, title: 'The node has lost the registry' },
  unavailable: { status: 503, title: 'The call cannot be served at the moment' },
  state_conflict: { status: 409, title: 'The state of the resource does not allow this' },
  no_staging_revision: { status: 409, title: 'There is no staging revision' },
  breaking_change: { status: 409, title: 'The revision breaks the published contract' },
  subscriptions_active: { status: 409, title: 'Active subscriptions remain' },
  name_taken: { status: 409, title: 'The name is in use' },
  idempotency_mismatch: { status: 422, title: 'The idempotency key was used for a different request' },
  version_conflict: { status: 412, title: 'The resource was changed in the meantime' },
  specification_invalid: { status: 400, title: 'The specification cannot be used' },
  cursor_invalid: { status: 400, title: 'The cursor is invalid' },
  internal: { status: 500, title: 'Internal error' },
} as const satisfies Record<string, Kind>

export type ProblemCode = keyof typeof PROBLEMS
/** The codes whose problems need no state. */
export type OtherCode = Exclude<ProblemCode, 'state_conflict'>

/** Position in a text; both numbers start at 1. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** One error in a body: an RFC 6901 pointer and a sentence; for a document also its position in the text. */
export interface ProblemPointer extends Partial<TextPlace> {
  readonly pointer: string
  readonly detail: string
}

export interface ProblemOptions extends ErrorOptions {
  readonly errors?: readonly ProblemPointer[]
  /** Additional members of the problem document, such as `state` and `allowed` of a conflict. */
  readonly extensions?: Readonly<Record<string, unknown>>
  /** The answer has it as `Retry-After`. */
  readonly retryAfterSeconds?: number
}

/** The commands that change a state, by their names in the command line tool, and `force`: the same request with that member. */
export const CONFLICT_ACTIONS = [
  ...[
    'activate',
    'cancel',
    'change-tier',
    'decide',
    'deprecate',
    'disable',
    'discard',
    'enable',
    'export',
    'force',
    'invite',
  ],
  ...['redeliver', 'remove', 'remove-totp', 'reset-password', 'resume', 'retire', 'retry', 'set'],
  ...['set-scopes', 'set-up-totp', 'stage', 'suspend', 'unmute', 'update'],
] as const
export type ConflictAction = (typeof CONFLICT_ACTIONS)[number]

/** The members of a 409 by which a client continues without reading its text. */
export type Conflict = {
  /** The state of the resource, in the words of its answers if it has one; else of what it conflicts with. */
  readonly state: string
  /** The commands that the state allows; empty if only another resource, or the passage of time, can change it. */
  readonly allowed: readonly ConflictAction[]
}

interface ConflictOptions extends ProblemOptions {
  readonly extensions: Conflict & Readonly<Record<string, unknown>>
}

/** A problem as it was stored or sent by another thread. */
export interface StoredProblem extends Pick<ProblemOptions, 'errors' | 'extensions'> {
  readonly code: ProblemCode
  readonly detail: string
}

export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly status: number
  readonly errors: readonly ProblemPointer[]
  readonly extensions: Readonly<Record<string, unknown>>
  readonly retryAfterSeconds: number | null

  constructor(code: OtherCode, detail: string, options?: ProblemOptions)
  constructor(code: ProblemCode, detail: string, options: ConflictOptions)
  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, options)
    this.code = code
    this.status = PROBLEMS[code].status
    this.errors = options.errors ?? []
    this.extensions = options.extensions ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }

  /** Returns a problem that was complete before. */
  static restore({ code, detail, errors, extensions }: StoredProblem): Problem {
    return new Problem(code as OtherCode, detail, {
      ...(errors && { errors }),
      ...(extensions && { extensions }),
    })
  }
}

/** Problem document of RFC 9457, section 3, with the extension members `code`, `requestId` and `errors`. */
export interface ProblemDocument {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ProblemCode
  readonly requestId: string
  readonly errors?: readonly ProblemPointer[]
  readonly [extension: string]: unknown
}

export function problemDocument(
  code: ProblemCode,
  detail: string,
  requestId: string,
  errors: readonly ProblemPointer[] = [],
  extensions?: Readonly<Record<string, unknown>>,
): ProblemDocument {
  const { title, status } = PROBLEMS[code]
  const document = { type: `urn:tollgate:problem:${code}`, title, status, detail, code, requestId, ...extensions }
  return errors.length === 0 ? document : { ...document, errors }
}
