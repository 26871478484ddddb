/** The keys that sign the tokens of all APIs; for the operator. */

import { change } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

const words = texts.settings.signingKeys

export function SigningKeys() {
  const reading = useRead('/v1/signingkeys', { query: Pages.query() })
  const { columns } = words
  const rotate = async (): Promise<void> => {
    await change('POST /v1/signingkeys/rotate', {}, undefined)
    notify(words.rotated)
    reading.reload()
  }
  return (
    <Page
      title={words.title}
      actions={
        scopes.value.has('platform:admin') ? (
          <ConfirmButton label={words.rotate} consequence={words.consequence} onConfirm={rotate} />
        ) : undefined
      }
    >
      <ListOf
        reading={reading}
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate signingkeys list'] }}
        columns={[
          { title: columns.id, cell: ({ id }) => <Id value={id} /> },
          { title: columns.algorithm, cell: ({ algorithm }) => algorithm },
          { title: columns.role, cell: ({ role }) => <State of={role} /> },
          { title: columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            title: columns.until,
            cell: ({ publishedUntil }) => (publishedUntil === null ? null : <Time at={publishedUntil} />),
          },
        ]}
      />
    </Page>
  )
}
