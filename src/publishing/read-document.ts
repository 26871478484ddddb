/** The work of the document reader, executed on the document thread. */

import { PREVIOUS_INVALID } from '../governance/compare/change.ts'
import { compareVersions } from '../governance/lint/compare-versions.ts'
import { readSpecification, type Specification } from '../governance/specification.ts'
import { compileDocument } from './compiled-document.ts'
import { defaultScopes, usesDefaultScopes } from '../governance/serving/compile-security.ts'
import type { ComparedDocument, DocumentRequest, PreviousDocument, ReadDocument } from './document-reader.ts'

/** Upper bound of the changes that a problem lists. */
const CHANGES_MAX = 100

export async function readDocument({ bytes, previous }: DocumentRequest): Promise<ReadDocument> {
  const specification = await readSpecification(bytes)
  const { document, swagger, technicalName, title, version, major, mediaType, serverUrl, operations } = specification
  return {
    technicalName,
    title,
    version,
    major,
    mediaType,
    serverUrl,
    operationIds: operations.map(({ operationId }) => operationId),
    declaredScopes: declaredBy(specification),
    compiled: compileDocument(specification),
    converted: swagger === null ? null : Buffer.from(JSON.stringify(document)),
    previous: previous?.api === technicalName ? await compare(previous, bytes, specification) : null,
  }
}

export async function compileAccepted(bytes: Uint8Array): Promise<Uint8Array> {
  return compileDocument(await readSpecification(bytes), { isAccepted: true })
}

async function compare(
  { bytes, nowMs, ruleset }: PreviousDocument,
  next: Uint8Array,
  specification: Specification,
): Promise<ComparedDocument> {
  const { changes, serverUrl } = await compareVersions(bytes, next, specification, ruleset, nowMs)
  // A document that cannot be compared may break callers.
  const breaking = changes.filter(({ id, level }) => level === 'breaking' || id === PREVIOUS_INVALID)
  return { serverUrl, breaking: breaking.length, changes: breaking.slice(0, CHANGES_MAX) }
}

function declaredBy(specification: Specification): readonly string[] {
  const { declaredScopes, technicalName } = specification
  return usesDefaultScopes(specification)
    ? [...new Set([...declaredScopes, ...defaultScopes(technicalName)])]
    : declaredScopes
}
