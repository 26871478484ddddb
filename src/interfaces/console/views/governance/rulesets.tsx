/** Rulesets: the rules that documents are judged by, besides the built-in ones. */

import { change, readVersion } from '../../api/client.ts'
import type { Answer, ChangeBody, Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { JsonDocument } from '../../parts/json-document.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time, toNumber } from '../../parts/values.tsx'
import { BASE, go } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

type Ruleset = Answer<'/v1/rulesets/:id'>
type RulesetInput = ChangeBody<'POST /v1/rulesets'>

const words = texts.rulesets
const LIST = 'governance/rulesets'
const TEMPLATE: RulesetInput = {
  description: 'Our rules',
  rules: {
    'our-summary': {
      description: 'Every operation has a summary.',
      message: 'Give the operation a summary.',
      severity: 'warn',
      given: '$.paths[*][get,put,post,patch,delete]',
      then: { field: 'summary', function: 'truthy' },
    },
  },
}

export function Rulesets({ id }: { readonly id: string }) {
  if (id === 'new' && mayWrite()) return <NewRuleset />
  return id === '' ? <RulesetList /> : <RulesetPage key={id} id={id} />
}

function mayWrite(): boolean {
  return scopes.value.has('policy:write')
}

/** The id of the ruleset that the policy names. */
function useActive(): string | null {
  const { data } = useRead(may('policy:read') ? '/v1/policy' : null)
  return data?.ruleset ?? null
}

function RulesetList() {
  const active = useActive()
  return (
    <Page
      title={words.title}
      actions={
        mayWrite() && (
          <a class="button main" href={`${BASE}${LIST}/new`}>
            {words.create}
          </a>
        )
      }
    >
      <List
        path="/v1/rulesets"
        caption={words.title}
        keyOf={({ id }) => id}
        columns={[
          { title: words.columns.name, cell: toLink },
          { title: words.columns.state, cell: ({ id }) => (id === active ? <State of={words.inForce} /> : '') },
          { title: words.columns.rules, isNumber: true, cell: ({ rules }) => toNumber(Object.keys(rules).length) },
          { title: words.columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: words.columns.id, cell: ({ id }) => <Id value={id} /> },
        ]}
        empty={{ text: words.none, commands: ['tollgate rulesets create --rules \'{"info-contact":"off"}\''] }}
      />
    </Page>
  )
}

function toLink({ id, description }: Item<'/v1/rulesets'>) {
  return (
    <a href={`${BASE}${LIST}/${encodeURIComponent(id)}`}>
      <bdi>{description ?? words.withoutDescription}</bdi>
    </a>
  )
}

function NewRuleset() {
  return (
    <Page title={words.createTitle}>
      <p class="quiet">{words.lead}</p>
      <JsonDocument<RulesetInput>
        id="new ruleset"
        label={words.document}
        load={async () => Promise.resolve({ data: {}, etag: '' })}
        draft={TEMPLATE}
        save={async (value) => {
          const { id } = await change('POST /v1/rulesets', {}, value)
          go(`${LIST}/${encodeURIComponent(id)}`)
        }}
        verb={words.create}
        saved={words.created}
        mayChange
      />
    </Page>
  )
}

function RulesetPage({ id }: { readonly id: string }) {
  const params = { id }
  const active = useActive()
  const { data } = useRead('/v1/rulesets/:id', { params })
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/rulesets/:id', params, undefined)
    notify(words.removed)
    go(LIST)
  }
  return (
    <Page
      title={data?.description ?? words.one}
      state={id === active && <State of={words.inForce} />}
      actions={
        mayWrite() &&
        id !== active && <ConfirmButton label={words.remove} consequence={words.consequence(id)} onConfirm={remove} />
      }
    >
      <p class="quiet">
        <Id value={id} /> {id === active ? words.activeHint : words.inactiveHint}
      </p>
      <JsonDocument<RulesetInput>
        id={`ruleset ${id}`}
        label={words.document}
        load={async (signal) => {
          const version = await readVersion('/v1/rulesets/:id', { params, signal })
          return { ...version, data: withoutFacts(version.data) }
        }}
        save={async (value, etag) =>
          change('PATCH /v1/rulesets/:id', params, value, etag === undefined ? {} : { etag })
        }
        verb={words.save}
        saved={words.saved}
        mayChange={mayWrite()}
        warn={warnOfRemoved}
      />
    </Page>
  )
}

function withoutFacts({ id: _, createdAt: __, ...document }: Ruleset): RulesetInput {
  return document
}

/** A change keeps the members that it leaves out. */
function warnOfRemoved(before: RulesetInput, after: RulesetInput): string | null {
  const removed = Object.keys(before).filter((key) => !(key in after))
  return removed.length === 0 ? null : words.kept(removed.join(', '))
}
