/** Changes for the callers of an API, breaking ones first. */

import type { Changes } from '../../api/operations.ts'
import { Severity } from '../../parts/values.tsx'
import { Table } from '../../parts/table.tsx'
import { texts } from '../../texts.ts'

const words = texts.apis.compare

type Change = Changes<'POST /v1/programmes/validate'>['changes'][number]

const SHOWN_MAX = 200
const LEVELS = { breaking: 'Critical', warning: 'Warning', info: 'Info' } as const
const ORDER = ['breaking', 'warning', 'info']

export function ChangeTable({ changes }: { readonly changes: readonly Change[] }) {
  const breaking = changes.filter(({ level }) => level === 'breaking').length
  const sorted = changes.toSorted((one, other) => ORDER.indexOf(one.level) - ORDER.indexOf(other.level))
  return (
    <>
      <p role="status" class={breaking > 0 ? 'notice' : 'quiet'}>
        {changes.length === 0 ? words.noChanges : words.changes(changes.length, breaking)}
      </p>
      {changes.length > 0 && (
        <Table
          caption={words.list}
          keyOf={({ id, pointer }) => `${id} ${pointer}`}
          rows={sorted.slice(0, SHOWN_MAX)}
          columns={[
            { title: words.columns.level, cell: ({ level }) => <Level of={level} /> },
            { title: words.columns.message, cell: ({ message }) => <bdi class="text">{message}</bdi> },
            {
              title: words.columns.operations,
              cell: ({ operations }) => <bdi class="text">{operations.join(', ')}</bdi>,
            },
            { title: words.columns.line, isNumber: true, cell: ({ line }) => line },
          ]}
        />
      )}
      {changes.length > SHOWN_MAX && <p class="quiet">{words.more(changes.length - SHOWN_MAX)}</p>}
    </>
  )
}

function Level({ of }: { readonly of: Change['level'] }) {
  return <Severity of={LEVELS[of]} word={words.levels[of]} />
}
