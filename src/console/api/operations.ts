/**
 * The types of the platform API, inferred from the declarations that its OpenAPI document is made of: what the console sends and
 * reads cannot differ from what the service serves. Nothing of them is part of the bundle.
 */

import type { API_OPERATIONS } from '../../platform/apis.ts'
import type { APPROVAL_OPERATIONS } from '../../platform/approvals.ts'
import type { PROGRAMME_OPERATIONS } from '../../platform/programmes.ts'
import type { CONSUMER_OPERATIONS } from '../../platform/consumers.ts'
import type { ME_OPERATIONS } from '../../platform/me.ts'
import type { REQUEST_OPERATIONS } from '../../platform/requests.ts'
import type { RISK_OPERATIONS } from '../../platform/risks.ts'
import type {} from '../../platform/guard.ts'
import type { SESSION_OPERATIONS } from '../../platform/sessions.ts'
import type { FromSchema } from '../../platform/schema-type.ts'
import type { USAGE_OPERATIONS } from '../../platform/usage-operations.ts'

type Tables = typeof API_OPERATIONS &
  typeof APPROVAL_OPERATIONS &
  typeof CONSUMER_OPERATIONS &
  typeof ME_OPERATIONS &
  typeof PROGRAMME_OPERATIONS &
  typeof REQUEST_OPERATIONS &
  typeof RISK_OPERATIONS &
  typeof SESSION_OPERATIONS &
  typeof USAGE_OPERATIONS
type Declared = Tables[keyof Tables]

/** The paths that can be read, with the names of their parameters: `/v1/risks/:riskId`. */
export type ReadPath = Extract<Declared, { readonly method: 'GET' }>['path']
type Read<Path extends ReadPath> = Extract<Declared, { readonly method: 'GET'; readonly path: Path }>

export type Answer<Path extends ReadPath> =
  Read<Path> extends { readonly answer: infer Schema } ? FromSchema<Schema> : never
/** An item of the list at a path. */
export type Item<Path extends ReadPath> = Answer<Path> extends { readonly items: readonly (infer Of)[] } ? Of : never

type ChangeMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Change = Extract<Declared, { readonly method: ChangeMethod }>
type NameOf<Of> = Of extends { readonly method: infer Method extends string; readonly path: infer Path extends string }
  ? `${Method} ${Path}`
  : never
/** A change by its method and path, such as `DELETE /v1/me/sessions`. */
export type ChangeName = NameOf<Change>
type Changed<Name extends ChangeName> = Name extends `${infer Method} ${infer Path}`
  ? Extract<Change, { readonly method: Method; readonly path: Path }>
  : never

export type ChangeBody<Name extends ChangeName> =
  Changed<Name> extends { readonly body: infer Schema } ? FromSchema<Schema> : undefined
