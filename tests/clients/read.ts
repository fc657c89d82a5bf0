// Reads a timeline page by page with a client that knows docs/openapi.yaml, and prints what it saw as JSON.
//
//   node read.js URL VIEWER [TOKEN]
//
// The compiler checks that every answer that may come is dealt with: what it does not know is no property here.

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Page = components["schemas"]["Page"];
type Said = { status: number; says: string | null; parameter?: string };

const [url, viewer_id, token] = process.argv.slice(2) as [string, string, string?];
const client = createClient<paths>({
  baseUrl: url,
  ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }),
});

async function read(query: { limit?: number; cursor?: string; order?: "newest" | "oldest" }): Promise<Page | Said> {
  const { data, error, response } = await client.GET("/v1/timelines/{viewer_id}", {
    params: { path: { viewer_id }, query },
  });
  if (data !== undefined) return data;
  if ("message" in error) return { status: response.status, says: error.message };
  if ("parameter" in error) return { status: response.status, says: error.detail, parameter: error.parameter };
  return { status: response.status, says: error.detail };
}

async function walk(): Promise<{ pages: string[][]; newer: string[] } | Said> {
  const pages: string[][] = [];
  let page = await read({ limit: 2, order: "oldest" });
  while (!("status" in page)) {
    pages.push(page.items.map((activity) => activity.activity_id));
    if (page.next_cursor === null) {
      const newer = await read({ cursor: page.newer_cursor });
      return "status" in newer ? newer : { pages, newer: newer.items.map((activity) => activity.activity_id) };
    }
    page = await read({ limit: 2, cursor: page.next_cursor });
  }
  return page;
}

console.log(JSON.stringify({ walked: await walk(), refused: await read({ cursor: "made-up" }) }));
