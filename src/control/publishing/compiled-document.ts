/**
 * The compiled form of an OpenAPI document, packed and stored with it.
 *
 * Documents are immutable, so a start reads the compiled form instead of compiling every document again
 * (measured: 25 to 75 ms each). A compiled form of an earlier compiler version is compiled again, and so is one without the
 * descriptions that the tools of MCP need, once the policy of its API has switched MCP on.
 */

import type { Specification } from '../../documents/governance/specification.ts'
import { commit } from '../command/commands.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import { packDocument } from '../../boundary/plan/packed-plan.ts'
import { documentKind, type Document, type Registry, type Write } from '../../storage/store/registry.ts'
import { compileRoutePlan } from '../../documents/governance/serving/compile-route-plan.ts'
import type { DocumentReader } from './document-reader.ts'
import { readContent } from './published-content.ts'

interface CompiledBody {
  readonly rules: number
  /** Set if it has descriptions although the document does not ask for MCP. */
  readonly hasProse?: true
  /** base64 */
  readonly packed: string
}

export const COMPILED_KIND = documentKind<CompiledBody>('compiled', 'hidden')

/** Version of the compiler: incremented with every change of its output, so that published APIs are compiled again. */
const RULES = 5

/** Returns the packed form. Throws `Problem('specification_invalid')`. */
export function compileDocument(
  specification: Specification,
  options: { readonly isAccepted?: boolean; readonly hasProse?: boolean } = {},
): Uint8Array {
  const plan = compileRoutePlan({
    specification,
    tenant: '',
    revision: 0,
    state: 'Active',
    backend: null,
    allowedScopes: [],
    memberOfProductIds: [],
    ...options,
  })
  return packDocument(plan)
}

/** `id` is the id of the document. */
export function compiledWrite(id: string, tenant: string, compiled: Uint8Array, hasProse = false): Write {
  const packed = Buffer.from(compiled).toString('base64')
  const body: CompiledBody = { rules: RULES, ...(hasProse && { hasProse }), packed }
  return { kind: COMPILED_KIND, id, tenant, expected: 0, body }
}

export interface CompiledOptions {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'compile'>
}

/**
 * Returns the packed form, with or without descriptions; null accepts both. One of an earlier version, or of the other form, is
 * replaced, so that it is compiled again only once.
 */
export async function readCompiled(
  { registry, documents }: CompiledOptions,
  tenant: string,
  id: string,
  wantsProse: boolean | null,
): Promise<Uint8Array> {
  const stored = await registry.get(COMPILED_KIND, id)
  const hasProse = wantsProse ?? stored?.body.hasProse ?? false
  const current = currentForm(stored, tenant, hasProse)
  if (current !== null) return current
  const { bytes } = await readContent(registry, tenant, id)
  const compiled = await documents.compile({ bytes, hasProse }, tenant)
  const isOwn = stored === null || stored.tenant === tenant
  const write = compiledWrite(id, tenant, compiled, hasProse)
  if (isOwn) await replace(registry, { ...write, expected: stored?.revision ?? 0 })
  return compiled
}

/** Returns the packed form of a stored document; null if it has to be compiled again. */
export function currentForm(
  stored: Document<CompiledBody> | null,
  tenant: string,
  hasProse: boolean,
): Uint8Array | null {
  if (stored === null || stored.tenant !== tenant) return null
  const { rules, hasProse: storedProse = false, packed } = stored.body
  return rules === RULES && storedProse === hasProse ? Buffer.from(packed, 'base64') : null
}

async function replace(registry: Registry, write: Write): Promise<void> {
  try {
    await commit(registry, { tenant: write.tenant, consumer: 'system' }, 'api.compile', [write])
  } catch (cause) {
    // The API serves without it: another start, or another command, stores it.
    if (!(cause instanceof Problem)) throw cause
  }
}
