/** The OpenSLA declarations of an API: which are in force, and one of them to read or to replace. */

import { readText } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { useRead } from '../../api/use-read.ts'
import { Editor } from '../../parts/code.tsx'
import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { go, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'
import { DeclarationEditor, readInForce } from './declaration-editor.tsx'
import { PlanInWords } from './plan-in-words.tsx'

type Declaration = Item<'/v1/openslaspecs'>

const words = texts.declarations
const NEW = 'new'
const ALL = 'all'
const SHOWN = [
  ['', words.inForce],
  [ALL, words.allShown],
] as const
const TEMPLATE = `opensla: 1.0.0
info: { title: Default tier, version: 1.0.0 }
limits:
  - name: all
    rate: { value: 100, duration: minute }
resourceUnits: { default: 1 }
`

export function Declarations({ api }: ApiTabProps) {
  const name = api.id
  const chosen = query.value.get('declaration') ?? ''
  const base = `apis/${encodeURIComponent(name)}/declarations`
  const back = (): void => go(base)
  if (chosen === NEW && mayDeclare()) return <Edit key={NEW} api={name} id={null} text={TEMPLATE} onDone={back} />
  if (chosen !== '') return <One key={chosen} id={chosen} api={name} base={base} />
  return (
    <>
      <div class="toolbar spread">
        <p class="quiet">{words.lead}</p>
        {mayDeclare() && (
          <a class="button main" href={`${BASE}${base}?declaration=${NEW}`}>
            {words.create}
          </a>
        )}
      </div>
      <Filters>
        <SelectFilter name="show" label={words.columns.state} options={SHOWN} />
      </Filters>
      <List
        path="/v1/openslaspecs"
        query={{ api: name, inForce: query.value.get('show') === ALL ? '' : 'true' }}
        caption={words.title}
        keyOf={({ id }) => id}
        columns={[
          { title: words.columns.variant, cell: (row) => toLink(row, base) },
          {
            title: words.columns.state,
            cell: ({ inForce }) => <State of={inForce ? words.inForce : words.replaced} />,
          },
          { title: words.columns.version, cell: ({ version }) => <bdi>{version}</bdi> },
          { title: words.columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: words.columns.id, cell: ({ id }) => <Id value={id} /> },
        ]}
        empty={{
          text: words.none,
          commands: [`tollgate openslaspecs create --api ${name} --specification opensla.yaml`],
        }}
      />
    </>
  )
}

function mayDeclare(): boolean {
  return scopes.value.has('openslaspecs:write')
}

function toLink({ id, variant }: Declaration, base: string) {
  return (
    <a href={`${BASE}${base}?declaration=${encodeURIComponent(id)}`}>
      {variant === '' ? words.defaultTier : <bdi>{variant}</bdi>}
    </a>
  )
}

interface OneProps {
  readonly id: string
  readonly api: string
  readonly base: string
}

function One({ id, api, base }: OneProps) {
  const params = { id }
  const reading = useRead('/v1/openslaspecs/:id', { params })
  const document = useLoaded(id, async (signal) => readText('/v1/openslaspecs/:id/content', { params, signal }))
  return (
    <>
      <p>
        <a href={BASE + base}>{words.all}</a>
      </p>
      <Loaded reading={reading}>
        {({ inForce, variant, createdAt }) => (
          <>
            <h2>
              {variant === '' ? words.defaultTier : <bdi>{variant}</bdi>}{' '}
              <State of={inForce ? words.inForce : words.replaced} />
            </h2>
            <p class="quiet">
              {words.columns.created} <Time at={createdAt} />
            </p>
            {!inForce && <p class="quiet">{words.replacedHint}</p>}
            <Loaded reading={document}>
              {(text) =>
                mayDeclare() ? (
                  <Edit api={api} id={id} text={text} onDone={() => go(base)} />
                ) : (
                  <div class="beside">
                    <Editor label={words.document} value={text} />
                    <Published id={id} />
                  </div>
                )
              }
            </Loaded>
          </>
        )}
      </Loaded>
    </>
  )
}

interface EditProps {
  readonly api: string
  /** Null: a new one. */
  readonly id: string | null
  readonly text: string
  readonly onDone: () => void
}

/** Whether the declaration is in force is read with the version, so that a change by another person in between is refused. */
function Edit({ api, id, text, onDone }: EditProps) {
  const reading = useLoaded(`${api} in force`, async (signal) => readInForce(api, signal))
  return (
    <Loaded reading={reading}>
      {({ data, etag }) => {
        const previous = data.items.some((each) => each.id === id) ? text : null
        return <DeclarationEditor api={api} first={text} previous={previous} etag={etag} onDone={onDone} />
      }}
    </Loaded>
  )
}

function Published({ id }: { readonly id: string }) {
  const reading = useRead('/v1/openslaspecs/:id/plan', { params: { id } })
  return <Loaded reading={reading}>{(plan) => <PlanInWords plan={plan} />}</Loaded>
}
