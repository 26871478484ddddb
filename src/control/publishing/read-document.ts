/** The work of the document reader, executed on the document thread. */

import { Problem } from '../../foundation/domain/problem.ts'
import { PREVIOUS_INVALID } from '../../documents/governance/compare/change.ts'
import { compareVersions } from '../../documents/governance/lint/compare-versions.ts'
import { readUnits } from '../../documents/governance/serving/units-extension.ts'
import { judge } from '../../documents/governance/serving/verdict.ts'
import {
  readDocument as readSpecificationParts,
  readSpecification,
  refuse,
  type Specification,
} from '../../documents/governance/specification.ts'
import { compileDocument } from './compiled-document.ts'
import { defaultScopes, isPublicWrite, usesDefaultScopes } from '../../documents/governance/serving/compile-security.ts'
import type {
  CompileRequest,
  ComparedDocument,
  DocumentRequest,
  PreviousDocument,
  ReadDocument,
} from './document-reader.ts'

/** Upper bound of the changes that a problem lists. */
const CHANGES_MAX = 100

export async function readDocument({ bytes, previous }: DocumentRequest): Promise<ReadDocument> {
  const specification = await readServable(bytes)
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
    countsUnits: operations.some((operation) => readUnits(document, operation, []).units !== undefined),
    publicWrites: operations
      .filter((operation) => isPublicWrite(operation, specification))
      .map(({ operationId }) => operationId),
    compiled: compileDocument(specification),
    converted: swagger === null ? null : Buffer.from(JSON.stringify(document)),
    previous: previous?.api === technicalName ? await compare(previous, bytes, specification) : null,
  }
}

/** Compiles a document that was accepted before, also if it has faults by the rules of this version. */
export async function compileAccepted({ bytes, hasProse }: CompileRequest): Promise<Uint8Array> {
  const { specification, deployable, faults, obstacles } = readSpecificationParts(bytes)
  if (deployable === null) throw refuse([...faults, ...obstacles])
  return compileDocument({ ...specification, ...deployable }, { isAccepted: true, hasProse })
}

/** Throws `Problem('specification_invalid')` with all faults, also those that only compiling finds. */
async function readServable(bytes: Uint8Array): Promise<Specification> {
  try {
    return await readSpecification(bytes)
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const { faults, obstacles } = judge(bytes)
    throw refuse([...faults, ...obstacles])
  }
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
