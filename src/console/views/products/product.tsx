/** The page of a product: its APIs, and who has subscribed to it. */

import { change, readVersion } from '../../api/client.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { ConfirmButton, DialogButton } from '../../parts/dialog.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { BASE, go } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { ProductForm, type ProductInput } from './form.tsx'

const words = texts.products

export function ProductPage({ id }: { readonly id: string }) {
  const params = { id }
  const reading = useLoaded(id, async (signal) => readVersion('/v1/products/:id', { params, signal }))
  const { data } = reading
  const save = async (input: ProductInput, before: ProductInput, etag: string): Promise<void> => {
    await change('PATCH /v1/products/:id', params, input, { etag })
    reading.reload()
    tell(words.saved, async () => {
      await change('PATCH /v1/products/:id', params, before)
      reading.reload()
    })
  }
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/products/:id', params, undefined)
    tell(words.removed)
    go('products')
  }
  return (
    <Page
      title={data?.data.name ?? words.one}
      actions={
        scopes.value.has('products:write') &&
        data !== null && (
          <>
            <DialogButton label={words.edit}>
              {(close) => (
                <ProductForm
                  first={toInput(data.data)}
                  submit={words.save}
                  hint={words.editHint}
                  onSubmit={async (input) => save(input, toInput(data.data), data.etag).then(close)}
                />
              )}
            </DialogButton>
            <ConfirmButton label={words.remove} consequence={words.consequence(data.data.name)} onConfirm={remove} />
          </>
        )
      }
    >
      <Loaded reading={reading}>{({ data: product }) => <Shown id={id} apis={product.apis} />}</Loaded>
    </Page>
  )
}

function toInput({ name, apis }: ProductInput): ProductInput {
  return { name, apis }
}

function Shown({ id, apis }: { readonly id: string; readonly apis: readonly string[] }) {
  return (
    <>
      <p class="quiet">
        <Id value={id} />
      </p>
      <h2>{words.apis}</h2>
      {apis.length === 0 ? (
        <p>{words.noApis}</p>
      ) : (
        <ul>
          {apis.map((api) => (
            <li key={api}>
              <a href={`${BASE}apis/${encodeURIComponent(api)}`}>{api}</a>
            </li>
          ))}
        </ul>
      )}
      {may('subscriptions:read') && <Subscriptions id={id} />}
    </>
  )
}

function Subscriptions({ id }: { readonly id: string }) {
  return (
    <>
      <h2>{words.subscriptions}</h2>
      <List
        path="/v1/subscriptions"
        query={{ ApiProductId: id }}
        caption={words.subscriptions}
        keyOf={(row) => row.id}
        columns={[
          { title: words.subscription, cell: (row) => <Id value={row.id} /> },
          {
            title: words.consumer,
            cell: ({ consumer }) => <a href={`${BASE}consumers/${encodeURIComponent(consumer)}`}>{consumer}</a>,
          },
          { title: words.state, cell: ({ state }) => <State of={state} /> },
          { title: words.tier, cell: ({ slaVariant }) => <bdi>{slaVariant ?? words.defaultTier}</bdi> },
          { title: words.createdAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
        empty={{
          text: words.noSubscriptions,
          commands: [`tollgate subscriptions create --consumer CONSUMER --product ${id}`],
        }}
      />
    </>
  )
}
