/** The first three steps of a programme: validates the document, scores it, and recommends fixes. */

import { Problem, type ProblemPointer } from '../../foundation/domain/problem.ts'
import type { LintReport } from '../../documents/governance/lint/linter.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import type { DocumentReader } from '../publishing/document-reader.ts'
import { takenName } from '../publishing/taken-name.ts'
import { readContent } from '../publishing/published-content.ts'
import type { Compliance } from './compliance.ts'
import { findEarlierMajor } from './earlier-major.ts'
import type { ProgrammeBody } from './programme-document.ts'
import type { ProgrammeStepWork, StepResult } from './step-result.ts'

export interface LintStepsOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly documents: Pick<DocumentReader, 'read'>
  readonly compliance: Pick<Compliance, 'lint'>
}

export interface LintSteps {
  readonly validate: ProgrammeStepWork
  readonly check: ProgrammeStepWork
  readonly recommend: ProgrammeStepWork
}

type Programme = Document<ProgrammeBody>
/** `api` is the technical name that the document yields; `''` if it yields none. */
type LintProgramme = (programme: Programme, api: string, bytes: Buffer) => Promise<LintReport>

const ERRORS_MAX = 50

export function createLintSteps(options: LintStepsOptions): LintSteps {
  const { registry, compliance } = options
  /** The latest report with its programme and document; the three steps share it. */
  let latest: { readonly key: string; readonly report: LintReport } | null = null
  const keyOf = ({ id, body }: Programme): string => `${id} ${body.specification}`

  const lint: LintProgramme = async (programme, api, bytes) => {
    const { tenant } = programme
    const earlier = api === '' ? null : await findEarlierMajor(registry, tenant, api)
    const report = await compliance.lint(tenant, bytes, earlier)
    latest = { key: keyOf(programme), report }
    return report
  }

  async function reportOf(programme: Programme): Promise<LintReport> {
    if (latest?.key === keyOf(programme)) return latest.report
    return lint(programme, programme.body.api, await bytesOf(registry, programme))
  }

  return {
    validate: (programme) => validate(options, lint, programme),
    check: async (programme) => toScore(await reportOf(programme)),
    recommend: async (programme) => toRecommendations(await reportOf(programme)),
  }
}

async function bytesOf(registry: Registry, { tenant, body }: Programme): Promise<Buffer> {
  return (await readContent(registry, tenant, body.specification)).bytes
}

async function validate(
  { registry, documents, createId }: LintStepsOptions,
  lint: LintProgramme,
  programme: Programme,
): Promise<StepResult> {
  const bytes = await bytesOf(registry, programme)
  const named = await nameIn(documents, programme.tenant, bytes)
  const { isServable, findings } = await lint(programme, named instanceof Problem ? '' : named, bytes)
  if (!isServable || named instanceof Problem) {
    const obstacles = named instanceof Problem ? named.errors : []
    const errors = isServable ? obstacles.map((obstacle) => locate(obstacle, findings)) : findings.map(toError)
    throw new Problem('specification_invalid', 'The gateway cannot serve the document.', {
      errors: errors.slice(0, ERRORS_MAX),
    })
  }
  const technicalName = named
  const entry = await registry.get(API_KIND, technicalName)
  const isForeign =
    entry !== null && (entry.tenant !== programme.tenant || ![null, programme.id].includes(entry.body.programme))
  if (isForeign) throw await takenName(registry, createId, technicalName)
  return { changes: { api: technicalName } }
}

/** Returns the technical name that the document yields, or why it cannot be deployed. */
async function nameIn(
  documents: LintStepsOptions['documents'],
  tenant: string,
  bytes: Uint8Array,
): Promise<string | Problem> {
  try {
    return (await documents.read({ bytes, previous: null }, tenant)).technicalName
  } catch (cause) {
    if (cause instanceof Problem && cause.code === 'specification_invalid') return cause
    throw cause
  }
}

function toError({ pointer, message, line, column }: LintReport['findings'][number]): ProblemPointer {
  return { pointer, detail: message, line, column }
}

/** Adds the position of the finding at the same place, if there is one. */
function locate(obstacle: ProblemPointer, findings: LintReport['findings']): ProblemPointer {
  const finding = findings.find(({ pointer }) => pointer === obstacle.pointer)
  return finding === undefined ? obstacle : { ...obstacle, line: finding.line, column: finding.column }
}

function toScore({ score, findings, changes }: LintReport): StepResult {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  return { changes: { score, errors, breaking: changes.filter(({ level }) => level === 'breaking').length } }
}

function toRecommendations({ recommendations }: LintReport): StepResult {
  return { changes: { recommendations } }
}
