// Holds requests to Vercel and its answers against the schemas in @vercel/sdk.
// Argument: the folder of that package. Standard input: [{what, operation, query,
// body, answer}]. Standard output: a line for each that does not fit.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";

const models = process.argv[2] + "/esm/models/";
const load = async (file, name) => {
  const schema = (await import(pathToFileURL(models + file + ".js")))[name];
  if (!schema) throw new Error(`${file} has no ${name}`);
  return schema;
};
// The schemas put a zero where something is missing, and take what is unknown to
// them; but they can count it.
const lib = (file) => import(pathToFileURL(process.argv[2] + "/esm/types/" + file + ".js"));
const { startCountingDefaultToZeroValue: missing } = await lib("defaultToZeroValue");
const { startCountingUnrecognized: odd } = await lib("unrecognized");
const upper = (s) => s[0].toUpperCase() + s.slice(1);

for (const x of JSON.parse(readFileSync(0, "utf8"))) {
  const { file, name, answer } = x.operation;
  const say = (why) => console.log(`${x.what}: ${why}`);
  if (x.query.length > 0) {
    let request = await load(file, upper(name) + "Request$outboundSchema");
    while (request._def.schema) request = request._def.schema; // without what renames its fields
    for (const q of x.query) if (!(q in request.shape)) say(`the parameter ${q} is not described`);
  }
  if (x.body !== undefined) {
    const got = (await load(file, upper(name) + "RequestBody$outboundSchema")).safeParse(x.body);
    if (!got.success) say(`request: ${JSON.stringify(got.error.issues)}`);
    else if (!isDeepStrictEqual(got.data, x.body)) say("the request has a field that is not described");
  }
  const [from, schema] = answer ?? [file, upper(name) + "ResponseBody$inboundSchema"];
  const expected = await load(from, schema);
  const [lacks, strange] = [missing(), odd()];
  const got = expected.safeParse(x.answer);
  const [n, m] = [lacks.end(), strange.end()];
  if (!got.success) say(`answer: ${JSON.stringify(got.error.issues).slice(0, 1500)}`);
  else if (n + m > 0) say(`answer: ${n} fields are missing, ${m} are of another kind: ${JSON.stringify(got.data).slice(0, 1500)}`);
}
