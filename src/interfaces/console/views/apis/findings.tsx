/** Findings in the document of the active revision, at their lines, and the points that each rule costs. */

import { useMemo } from 'preact/hooks'
import { toBase64 } from '../../api/base64.ts'
import { change, read, readText } from '../../api/client.ts'
import type { Answer, Changes } from '../../api/operations.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { useRead } from '../../api/use-read.ts'
import { Editor } from '../../parts/code.tsx'
import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { State, Time, toNumber } from '../../parts/values.tsx'
import { BASE, path, query } from '../../router.ts'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'

type Report = Changes<'POST /v1/programmes/validate'>
type Finding = Report['findings'][number]
type Compliance = Answer<'/v1/apis/:name/compliance'>

interface Judged {
  readonly text: string
  readonly report: Report
}

const words = texts.findings
const SEVERITIES = [
  ['', words.all],
  ['error', texts.documents.severities.error],
  ['warning', texts.documents.severities.warning],
  ['info', texts.documents.severities.info],
] as const

export function Findings({ api: { id: name } }: ApiTabProps) {
  const compliance = useRead('/v1/apis/:name/compliance', { params: { name } })
  const judged = useLoaded(name, async (signal) => judge(name, signal))
  return (
    <>
      <Loaded reading={compliance}>{(found) => <Scores compliance={found} />}</Loaded>
      <Loaded reading={{ ...judged, data: judged.data === null ? null : { found: judged.data.found } }}>
        {({ found }) => (found === null ? <Empty text={words.notActive} /> : <Shown judged={found} />)}
      </Loaded>
    </>
  )
}

/** Lints the document of the active revision with the rules in force now. */
async function judge(api: string, signal: AbortSignal): Promise<{ readonly found: Judged | null }> {
  const { items } = await read('/v1/proxies', { query: { api }, signal })
  const [proxy] = items
  if (proxy === undefined || proxy.activeRevision === null) return { found: null }
  const { items: revisions } = await read('/v1/proxies/:id/revisions', {
    params: { id: proxy.id },
    query: { limit: '500' },
    signal,
  })
  const active = revisions.find(({ revision }) => revision === proxy.activeRevision)
  if (active === undefined) return { found: null }
  const text = await readText('/v1/openapispecs/:id/content', { params: { id: active.specification }, signal })
  const report = await change('POST /v1/programmes/validate', {}, { specification: toBase64(text) })
  return { found: { text, report } }
}

function Scores({ compliance }: { readonly compliance: Compliance }) {
  const { score, band, specification, runtime, violations, history } = compliance
  return (
    <>
      <dl class="figures">
        <div>
          <dt>{words.score}</dt>
          <dd>
            {score === null ? words.noScore : toNumber(score)}{' '}
            {band !== null && <State of={words.bands[band as keyof typeof words.bands]} />}
          </dd>
        </div>
        <div>
          <dt>{words.document}</dt>
          <dd>{specification === null ? words.noScore : toNumber(specification)}</dd>
        </div>
        <div>
          <dt>{words.implementation}</dt>
          <dd>{toNumber(runtime)}</dd>
        </div>
      </dl>
      {violations.length > 0 && (
        <>
          <h2>{words.violations}</h2>
          <Table
            caption={words.violations}
            rows={violations}
            keyOf={({ kind, operation, detail }) => `${kind} ${operation ?? ''} ${detail}`}
            columns={[
              { title: words.columns.kind, cell: ({ kind }) => <bdi>{kind}</bdi> },
              { title: words.columns.operation, cell: ({ operation }) => <bdi>{operation ?? ''}</bdi> },
              { title: words.columns.message, cell: ({ detail }) => <bdi>{detail}</bdi> },
              { title: words.columns.last, cell: ({ lastSeen }) => <Time at={lastSeen} /> },
            ]}
          />
        </>
      )}
      {history.length > 0 && (
        <details>
          <summary>{words.history}</summary>
          <Table
            caption={words.history}
            rows={history}
            keyOf={({ revision, time }) => `${revision} ${time}`}
            columns={[
              { title: words.columns.revision, cell: ({ revision }) => toNumber(revision) },
              { title: words.score, isNumber: true, cell: ({ score: points }) => toNumber(points) },
              { title: words.columns.time, cell: ({ time }) => <Time at={time} /> },
            ]}
          />
        </details>
      )}
    </>
  )
}

function Shown({ judged: { text, report } }: { readonly judged: Judged }) {
  const severity = query.value.get('severity') ?? ''
  const rule = query.value.get('rule') ?? ''
  const line = Number(query.value.get('line') ?? 0)
  const column = Number(query.value.get('column') ?? 1)
  const found = report.findings.filter((each) => isShown(each, severity, rule))
  const marks = useMemo(
    () => report.findings.filter((each) => isShown(each, severity, rule)).map(toMark),
    [report, severity, rule],
  )
  const { costs, omitted } = report.compliance
  return (
    <>
      <h2>{words.title(toNumber(report.findings.length + omitted))}</h2>
      {report.findings.length === 0 ? (
        <p>{words.none}</p>
      ) : (
        <>
          <Costs costs={costs} />
          <Filters>
            <SelectFilter name="severity" label={words.columns.severity} options={SEVERITIES} />
            <SelectFilter name="rule" label={words.columns.rule} options={toRules(costs)} />
          </Filters>
          {omitted > 0 && <p class="notice">{words.omitted(toNumber(omitted))}</p>}
          <Table caption={words.found} rows={found} keyOf={({ fingerprint }) => fingerprint} columns={COLUMNS} />
        </>
      )}
      <h2>{words.document}</h2>
      <Editor label={words.document} value={text} findings={marks} {...(line > 0 && { line, column })} />
    </>
  )
}

const COLUMNS = [
  { title: words.columns.line, cell: (found: Finding) => <a href={toPlace(found)}>{words.line(found.line)}</a> },
  { title: words.columns.severity, cell: ({ severity }: Finding) => texts.documents.severities[severity] },
  { title: words.columns.rule, cell: ({ rule }: Finding) => <bdi>{rule}</bdi> },
  { title: words.columns.message, cell: ({ message }: Finding) => <bdi>{message}</bdi> },
  { title: words.columns.advice, cell: ({ advice }: Finding) => <bdi>{advice}</bdi> },
]

/** A place of the document below, in the same view. */
function toPlace({ line, column }: Finding): string {
  const next = new URLSearchParams(query.value)
  next.set('line', String(line))
  next.set('column', String(column))
  return `${BASE}${path.value}?${next.toString()}`
}

function Costs({ costs }: { readonly costs: Report['compliance']['costs'] }) {
  return (
    <Table
      caption={words.byRule}
      rows={costs}
      keyOf={({ rule }) => rule}
      columns={[
        { title: words.columns.rule, cell: ({ rule }) => <bdi>{rule}</bdi> },
        { title: words.columns.severity, cell: ({ severity }) => texts.documents.severities[severity] },
        { title: words.columns.category, cell: ({ category }) => category },
        { title: words.columns.count, isNumber: true, cell: ({ count }) => toNumber(count) },
        { title: words.columns.cost, isNumber: true, cell: ({ cost }) => toNumber(cost) },
      ]}
    />
  )
}

function isShown(finding: Finding, severity: string, rule: string): boolean {
  return (severity === '' || finding.severity === severity) && (rule === '' || finding.rule === rule)
}

function toMark({ line, column, severity, message }: Finding) {
  return { line, column, severity, message }
}

function toRules(costs: Report['compliance']['costs']): readonly (readonly [string, string])[] {
  return [['', words.all], ...costs.map(({ rule }) => [rule, rule] as const)]
}
