/** The work of the document reader, executed on the document thread. */

import { compareDocuments } from '../governance/compare/compare-documents.ts'
import { readSpecification, type Specification } from '../governance/specification.ts'
import { compileDocument } from './compiled-document.ts'
import { defaultScopes, usesDefaultScopes } from './compile-security.ts'
import type { ComparedDocument, DocumentRequest, PreviousDocument, ReadDocument } from './document-reader.ts'

/** Upper bound of the changes that a problem lists. */
const CHANGES_MAX = 100

export async function readDocument({ bytes, previous }: DocumentRequest): Promise<ReadDocument> {
  const specification = await readSpecification(bytes)
  const { technicalName, title, version, major, mediaType, serverUrl, operations } = specification
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
    previous: previous?.api === technicalName ? await compare(previous, specification) : null,
  }
}

export async function compileAccepted(bytes: Uint8Array): Promise<Uint8Array> {
  return compileDocument(await readSpecification(bytes), { isAccepted: true })
}

async function compare({ bytes, nowMs }: PreviousDocument, next: Specification): Promise<ComparedDocument> {
  const before = await readSpecification(bytes)
  const breaking = compareDocuments(before, next, nowMs).filter(({ level }) => level === 'breaking')
  return { serverUrl: before.serverUrl, breaking: breaking.length, changes: breaking.slice(0, CHANGES_MAX) }
}

function declaredBy(specification: Specification): readonly string[] {
  const { declaredScopes, technicalName } = specification
  return usesDefaultScopes(specification)
    ? [...new Set([...declaredScopes, ...defaultScopes(technicalName)])]
    : declaredScopes
}
