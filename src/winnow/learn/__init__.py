"""A classifier of a public class, chosen privately."""
